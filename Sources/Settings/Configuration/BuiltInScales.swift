/// The scales of bands that are there without being defined.
enum BuiltInScales {
    /// `cpcb`: India's National Air Quality Index. Names and ends are those of the Central Pollution Control Board
    /// ("National Air Quality Index", CUPS/82/2014-15, 2014; https://cpcb.nic.in/National-Air-Quality-Index/); the
    /// colours follow its scheme, from green to dark red.
    private static let text = """
        {
          "cpcb": {
            "unit": "AQI",
            "bands": [
              {"name": "good", "letter": "G", "color": "#00b050", "up_to": 50},
              {"name": "satisfactory", "letter": "S", "color": "#92d050", "up_to": 100},
              {"name": "moderate", "letter": "M", "color": "#ffff00", "up_to": 200},
              {"name": "poor", "letter": "P", "color": "#ff9900", "up_to": 300},
              {"name": "very poor", "letter": "V", "color": "#ff0000", "up_to": 400},
              {"name": "severe", "letter": "X", "color": "#c00000"}
            ]
          }
        }
        """

    /// By name; a test holds that all of them are read.
    static let all: [String: ConfigScale] = {
        let source = ConfigText(name: "built-in scales", bytes: Array(text.utf8))
        var reader = ConfigReader(issues: ConfigIssues(text: source))
        guard let node = try? ConfigNode.parse(source), case .object(let members) = node.value else { return [:] }
        return members.reduce(into: [:]) { scales, member in
            scales[member.name] = reader.scale(member.value, member.name)
        }
    }()
}
