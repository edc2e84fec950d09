import Glibc
import TestSupport
import Testing

@testable import Settings

@Suite(.limited) struct ConfigFileTests {
    /// A folder that goes away with the test.
    private final class Folder {
        let path: String

        init() throws {
            var template = Array("/tmp/catwatch-config-XXXXXX".utf8CString)
            path = try #require(
                template.withUnsafeMutableBufferPointer { bytes in
                    bytes.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) }
                })
        }

        func write(_ name: String, _ bytes: [UInt8]) throws -> String {
            let file = "\(path)/\(name)"
            let stream = try #require(fopen(file, "w"))
            fwrite(bytes, 1, bytes.count, stream)
            fclose(stream)
            return file
        }

        func make(_ name: String) -> String {
            mkdir("\(path)/\(name)", 0o700)
            return "\(path)/\(name)"
        }

        deinit {
            for name in ["a.jsonc", "large", "pipe", "catwatch/config.jsonc", ".config/catwatch/config.jsonc"] {
                unlink("\(path)/\(name)")
            }
            for name in ["catwatch", ".config/catwatch", ".config", ""] { rmdir("\(path)/\(name)") }
        }
    }

    private func message(_ path: String) -> String? {
        do throws(UsageError) {
            _ = try ConfigFile.read(path)
            return nil
        } catch {
            #expect(error.option == "--config")
            return error.message
        }
    }

    @Test func saysWhyAFileCannotBeRead() throws {
        let folder = try Folder()
        #expect(message("\(folder.path)/none") == "'\(folder.path)/none': No such file or directory")
        #expect(message(folder.path) == "'\(folder.path)': is a directory")
        let large = try folder.write("large", [UInt8](repeating: 0x20, count: (1 << 20) + 1))
        #expect(message(large) == "'\(large)': is larger than 1MiB")
        #expect(truncate(large, 100 << 20) == 0)
        #expect(message(large) == "'\(large)': is larger than 1MiB")
        let pipe = "\(folder.path)/pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        #expect(message(pipe) == "'\(pipe)': is no ordinary file")  // and without waiting for a writer
        #expect(message("/dev/zero") == "'/dev/zero': is no ordinary file")
    }

    @Test func readsOneOfTheLargestSize() throws {
        let folder = try Folder()
        let path = try folder.write("large", [UInt8](repeating: 0x20, count: 1 << 20))
        #expect(try ConfigFile.read(path).bytes.count == 1 << 20)
    }

    @Test func looksInTheUsualPlaces() throws {
        let system = "/etc/catwatch/config.jsonc"
        #expect(ConfigFile.defaultPaths(environment: [:]) == [system])
        #expect(ConfigFile.defaultPaths(environment: ["HOME": "/h"]) == ["/h/.config/catwatch/config.jsonc", system])
        #expect(
            ConfigFile.defaultPaths(environment: ["HOME": "/h", "XDG_CONFIG_HOME": "/x"])
                == ["/x/catwatch/config.jsonc", system])
        #expect(
            ConfigFile.defaultPaths(environment: ["HOME": "/h", "XDG_CONFIG_HOME": "relative"])
                == ["/h/.config/catwatch/config.jsonc", system])

        let folder = try Folder()
        _ = folder.make("catwatch")
        let path = try folder.write("catwatch/config.jsonc", Array("{}".utf8))
        #expect(try ConfigFile.find(named: nil, environment: ["XDG_CONFIG_HOME": folder.path])?.name == path)
        #expect(try ConfigFile.find(named: "/dev/null", environment: ["XDG_CONFIG_HOME": folder.path]) == nil)
        let other = try folder.write("a.jsonc", Array("{}".utf8))
        #expect(try ConfigFile.find(named: other, environment: ["XDG_CONFIG_HOME": folder.path])?.name == other)
    }

    @Test func refusesWhatIsThereButCannotBeRead() throws {
        let folder = try Folder()
        _ = folder.make("catwatch")
        let environment = ["XDG_CONFIG_HOME": folder.path]
        mkdir("\(folder.path)/catwatch/config.jsonc", 0o700)
        #expect(throws: UsageError.self) { try ConfigFile.find(named: nil, environment: environment) }
        rmdir("\(folder.path)/catwatch/config.jsonc")
    }
}
