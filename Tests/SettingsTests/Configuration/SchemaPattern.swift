/// The schema's regular expressions.
enum SchemaPattern {
    static let name = "^[^\\u0000-,/:-@\\[-^`{-\\u007f]+$"
    static let token = "^[-!#$%&'*+.^_`|~0-9A-Za-z]+$"
    static let url =
        "^(([Hh][Tt][Tt][Pp]|[Ww][Ss])[Ss]?://[^/?#@]+([/?#].*)?|unix:.*|([Nn][Aa][Tt][Ss]|[Tt][Ll][Ss])://[^/?#@]+/?(,.*)?)$"
    static let origin = "^[Hh][Tt][Tt][Pp][Ss]://[-.0-9A-Za-z]+(:[0-9]+)?/?$"
    static let color = "^#[0-9A-Fa-f]{6}$"
    static let duration = "^[0-9]+(\\.[0-9]+)?(ms|s|m|h|d)?$"
    static let size = "^[0-9]+(\\.[0-9]+)?([KMGkmg][Ii]?)?[Bb]?$"
    static let pointer = "^(/([^/~]|~[01])*)*$"
    static let key = "^(#|(/([^/~]|~[01])*)*)$"
}
