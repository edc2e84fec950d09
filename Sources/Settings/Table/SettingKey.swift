/// A row of `SettingTable`: what an option, a variable or a key can say, or a request such as `--help`.
protocol TableRow: AnyObject, Sendable {
    /// How the command line says it; nil for what only sources of a file have.
    var option: Option? { get }
}

/// A setting, whatever its value's type is.
protocol Setting: TableRow {
    /// What a source of a configuration calls it.
    var name: String { get }
    /// What it says to sources; nil when it is the program's alone.
    var source: InSource? { get }
    /// `--every`, as messages name it.
    var flag: String { get }
    var shape: ValueShape { get }
    /// Puts what holds for a kind of source when nobody says anything; nil for the program itself.
    func putInitial(for kind: SourceKind?, into values: inout SettingValues)
    /// Reads an option's argument; adds to what `values` has of a setting that may be repeated.
    ///
    /// - Parameter text: nil for a configuration's null, if that says something.
    func take(_ text: String?, into values: inout SettingValues, from origin: Origin) throws(UsageError)
    /// Reads a source's key; false, and told, when it is none.
    func read(
        _ node: ConfigNode, _ path: String, _ reader: inout ConfigReader, into values: inout SettingValues,
        from origin: Origin
    ) -> Bool
    /// Why `values` has what must not stand in a file.
    func secret(in values: SettingValues) -> String?
}

/// One declaration of a setting: everything that knows of it is made from this, and who needs the value asks with it.
package final class SettingKey<Value: Sendable & Equatable>: Setting {
    let name: String
    let option: Option?
    let source: InSource?
    var shape: ValueShape { type.shape }
    package var flag: String { option?.flag ?? name }
    let type: SettingType<Value>
    /// What there is when nobody has said anything and nothing holds by default.
    let absent: Value
    private let initial: Value?
    private let initialFor: [SourceKind: Value]
    private let secret: (@Sendable (Value) -> String?)?

    /// - Parameters:
    ///   - name: as a source of a configuration has it; the option has hyphens instead, unless it says otherwise.
    ///   - absent: when nobody says anything.
    ///   - initial: what is shown as the default; a constant of who owns it.
    ///   - initialFor: the default of these kinds of sources, where it differs.
    ///   - secret: why a value must not stand in a file.
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
        self.option = option?.completed(name, type.shape)
        self.source = source
        self.secret = secret
    }

    /// With a default.
    convenience init(
        _ name: String, _ type: SettingType<Value>, initial: Value, option: Option? = nil, source: InSource? = nil
    ) {
        self.init(name, type, absent: initial, initial: initial, option: option, source: source)
    }

    /// Without a default: nil when nobody says anything.
    convenience init<Wrapped>(
        _ name: String, _ type: SettingType<Wrapped>, initialFor: [SourceKind: Value] = [:], option: Option? = nil,
        source: InSource? = nil
    ) where Value == Wrapped? {
        self.init(name, type.optional, absent: nil, initialFor: initialFor, option: option, source: source)
    }

    func putInitial(for kind: SourceKind?, into values: inout SettingValues) {
        if let value = kind.flatMap({ initialFor[$0] }) ?? initial { values.put(self, value, from: .initial) }
    }

    func take(_ text: String?, into values: inout SettingValues, from origin: Origin) throws(UsageError) {
        if let value = try text.map({ text throws(UsageError) in try type.parse(text) }) ?? type.null {
            values.put(self, value, from: origin)
        }
    }

    func read(
        _ node: ConfigNode, _ path: String, _ reader: inout ConfigReader, into values: inout SettingValues,
        from origin: Origin
    ) -> Bool {
        guard let value = type.value(of: node, path, &reader) else { return false }
        values.put(self, value, from: origin)
        return true
    }

    func secret(in values: SettingValues) -> String? {
        guard let secret, let value = values.entry(of: self)?.value else { return nil }
        return secret(value)
    }
}

/// Something to do instead of watching, or beyond checking: an option without a value that is kept.
final class RequestRow: TableRow {
    let option: Option?

    init(_ name: String, _ shape: ValueShape, _ option: Option) { self.option = option.completed(name, shape) }

    var flag: String { option?.flag ?? "" }

    /// Every way to write it in one word.
    var spellings: [String] {
        guard let option else { return [] }
        let argument = if case .optional(let word) = option.argument { ["\(option.flag)=\(word)"] } else { [String]() }
        return [option.flag] + (option.short.map { ["-\($0)"] } ?? []) + argument
    }
}
