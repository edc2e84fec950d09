/// Completion scripts for shells, made from the option table.
package enum Completions {
    /// The script for that shell; its first lines say how to load it.
    package static func script(for shell: Command.Shell) -> String {
        switch shell {
        case .bash: bash
        case .zsh: zsh
        case .fish: fish
        }
    }

    private static var bash: String {
        var cases = ""
        var nothing: [String] = []
        for entry in Option.all {
            guard case .required = entry.argument else { continue }
            let names = (["--\(entry.long)"] + (entry.short.map { ["-\($0)"] } ?? [])).joined(separator: "|")
            switch entry.completion {
            case .nothing: nothing.append(names)
            case .file: cases += "        \(names)) mapfile -t COMPREPLY < <(compgen -f -- \"$word\"); return ;;\n"
            case .words(let words):
                cases +=
                    "        \(names)) "
                    + "mapfile -t COMPREPLY < <(compgen -W '\(words.joined(separator: " "))' -- \"$word\"); return ;;\n"
            }
        }
        cases += "        \(nothing.joined(separator: "|"))) return ;;\n"
        let all = (Option.all.map { "--\($0.long)" } + Command.words).joined(separator: " ")
        return """
            # bash completion for catwatch: source <(catwatch --completions bash)
            _catwatch() {
                local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
                COMPREPLY=()
                # Bash makes '=' a word of its own.
                if [[ $word == "=" ]]; then word=""; fi
                if [[ $previous == "=" ]]; then previous=${COMP_WORDS[COMP_CWORD - 2]}; fi
                case $previous in
            \(cases)    esac
                mapfile -t COMPREPLY < <(compgen -W '\(all)' -- "$word"; compgen -f -- "$word")
            }
            complete -o filenames -F _catwatch catwatch

            """
    }

    private static var zsh: String {
        let arguments = Option.all.map { entry in
            let help = "[" + zshEscaped(entry.help) + "]"
            // An optional argument has to follow its equals sign without a blank.
            let (equals, action) =
                switch entry.argument {
                case .none: ("", "")
                case .required(let name): ("=", ":\(zshName(name)):\(zshAction(entry.completion))")
                case .optional(let name): ("=-", "::\(zshName(name)):\(zshAction(entry.completion))")
                }
            let star = entry.repeats == .last ? "" : "*"
            guard let short = entry.short else { return "    '\(star)--\(entry.long)\(equals)\(help)\(action)'" }
            let shortEquals = equals == "=" ? "+" : ""
            let shortAction = equals == "=-" ? "" : action
            let exclusion = star.isEmpty ? "(-\(short) --\(entry.long))" : star
            return "    '\(exclusion)-\(short)\(shortEquals)\(help)\(shortAction)' \\\n"
                + "    '\(exclusion)--\(entry.long)\(equals)\(help)\(action)'"
        }
        return """
            #compdef catwatch
            # zsh completion for catwatch: catwatch --completions zsh > a folder of $fpath, as _catwatch
            _arguments -s -S \\
            \(arguments.joined(separator: " \\\n")) \\
                '1:command:{ compadd \(Command.words.joined(separator: " ")); _files }' \\
                '*:file or address:_files'

            """
    }

    private static var fish: String {
        let lines = Option.all.map { entry in
            var line = "complete -c catwatch -l \(entry.long)"
            if let short = entry.short { line += " -s \(short)" }
            switch (entry.argument, entry.completion) {
            case (.none, _): break
            case (.optional, .words(let words)): line += " -a '\(words.joined(separator: " "))'"
            case (.optional, _): break
            case (.required, .nothing): line += " -x"
            case (.required, .file): line += " -r -F"
            case (.required, .words(let words)): line += " -x -a '\(words.joined(separator: " "))'"
            }
            return line + " -d '\(fishEscaped(entry.help))'"
        }
        return """
            # fish completion for catwatch: catwatch --completions fish | source
            complete -c catwatch -n __fish_use_subcommand -a '\(Command.words.joined(separator: " "))'
            \(lines.joined(separator: "\n"))

            """
    }

    private static func zshAction(_ completion: Option.Completion) -> String {
        switch completion {
        case .nothing: " "
        case .file: "_files"
        case .words(let words): "(\(words.joined(separator: " ")))"
        }
    }

    private static func zshName(_ name: String) -> String {
        String(name.lowercased().filter { $0.isLetter || $0 == " " })
    }

    /// Escapes text inside single quotes and brackets of an `_arguments` specification.
    private static func zshEscaped(_ text: String) -> String {
        text.escaped(["'": "'\\''", "[": "\\[", "]": "\\]", "\\": "\\\\", ":": "\\:"])
    }

    private static func fishEscaped(_ text: String) -> String { text.escaped(["'": "\\'", "\\": "\\\\"]) }
}

extension String {
    /// The text with these characters replaced.
    func escaped(_ escapes: [Character: String]) -> String { map { escapes[$0] ?? String($0) }.joined() }
}
