/// A row of `SettingTable` with any value type: a setting (an option, a variable or a key), or a request such as
/// `--help`, whose value is not used.
protocol Setting: AnyObject, Sendable {
    /// The key in a source of a configuration.
    var name: String { get }
    /// The command line's option; nil for keys that only a configuration's sources have.
    var option: Option? { get }
    /// The key's part in sources; nil for a setting of the program only.
    var source: InSource? { get }
    /// `--every`, as messages name it.
    var flag: String { get }
    var shape: ValueShape { get }
    /// Puts the default for a kind of source, or for the program itself when `kind` is nil.
    func putInitial(for kind: SourceKind?, into values: inout SettingValues)
    /// Parses an option's argument; adds to the values of a setting that may be repeated.
    ///
    /// - Parameter text: nil for a configuration's null, if that has a meaning.
    func parse(_ text: String?, into values: inout SettingValues, from origin: Origin) throws(UsageError)
    /// Reads a source's key.
    func read(_ node: ConfigNode, into values: inout SettingValues, from origin: Origin) throws(UsageError)
    /// The reason why the value must not stand in a file; nil when it may.
    func secret(in values: SettingValues) -> String?
}

/// The one declaration of a setting: options, keys and documentation are made from it, and it is the key to the value.
package final class SettingKey<Value: Sendable & Equatable>: Setting {
    let name: String
    let option: Option?
    let source: InSource?
    var shape: ValueShape { type.shape }
    package var flag: String { option?.flag ?? name }
    let type: SettingType<Value>
    /// The value when nothing sets it and it has no default.
    let absent: Value
    private let initial: Value?
    private let initialFor: [SourceKind: Value]
    private let secret: (@Sendable (Value) -> String?)?

    /// - Parameters:
    ///   - name: the key in a configuration's source; the option has hyphens instead, unless it is named otherwise.
    ///   - absent: the value when nothing sets it and it has no default.
    ///   - initial: the default that is shown; a constant of the input or output that owns it.
    ///   - initialFor: the default for these kinds of sources, where it differs.
    ///   - secret: returns the reason why a value must not stand in a file.
    init(
        _ name: String, _ type: SettingType<Value>, absent: Value, initial: Value? = nil,
        initialFor: [SourceKind: Value] = [:], option: Option? = nil, source: InSource? = nil,
        secret: (@Sendable (Value) -> String?)? = nil
    ) {
        self.name = name
        self.type = type
        self.absent = absent
        self.initial = initial
        self.initialFor = initialFor
        self.option = option?.completed(name, type.shape, isList: type.combine != nil)
        self.source = source
        self.secret = secret
    }

    /// Creates a setting with a default.
    convenience init(
        _ name: String, _ type: SettingType<Value>, initial: Value, option: Option? = nil, source: InSource? = nil
    ) {
        self.init(name, type, absent: initial, initial: initial, option: option, source: source)
    }

    /// Creates a setting without a default: nil when nothing sets it.
    convenience init<Wrapped>(
        _ name: String, _ type: SettingType<Wrapped>, initialFor: [SourceKind: Value] = [:], option: Option? = nil,
        source: InSource? = nil
    ) where Value == Wrapped? {
        self.init(name, type.optional, absent: nil, initialFor: initialFor, option: option, source: source)
    }

    func putInitial(for kind: SourceKind?, into values: inout SettingValues) {
        if let value = kind.flatMap({ initialFor[$0] }) ?? initial { values.put(self, value, from: .initial) }
    }

    func parse(_ text: String?, into values: inout SettingValues, from origin: Origin) throws(UsageError) {
        if let value = try text.map({ text throws(UsageError) in try type.parse(text) }) ?? type.null {
            values.put(self, value, from: origin)
        }
    }

    func read(_ node: ConfigNode, into values: inout SettingValues, from origin: Origin) throws(UsageError) {
        values.put(self, try type.value(of: node), from: origin)
    }

    func secret(in values: SettingValues) -> String? {
        guard let secret, let value = values.entry(of: self)?.value else { return nil }
        return secret(value)
    }
}
