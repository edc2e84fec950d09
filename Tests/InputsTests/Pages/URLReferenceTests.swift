import TestSupport
import Testing

@testable import Inputs

@Suite(.limited) struct URLReferenceTests {
    /// RFC 3986, sections 5.4.1 and 5.4.2, less what a strict reader does not do.
    @Test(
        arguments: [
            ("g:h", "g:h"), ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"), ("//g", "http://g"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"),
            ("#s", "http://a/b/c/d;p?q#s"), ("g#s", "http://a/b/c/g#s"), ("g?y#s", "http://a/b/c/g?y#s"),
            (";x", "http://a/b/c/;x"), ("g;x", "http://a/b/c/g;x"), ("g;x?y#s", "http://a/b/c/g;x?y#s"),
            ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"), ("..", "http://a/b/"),
            ("../", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"), ("../../", "http://a/"),
            ("../../g", "http://a/g"), ("../../../g", "http://a/g"), ("../../../../g", "http://a/g"),
            ("/./g", "http://a/g"), ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"),
            ("g..", "http://a/b/c/g.."), ("..g", "http://a/b/c/..g"), ("./../g", "http://a/b/g"),
            ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"), ("g/../h", "http://a/b/c/h"),
            ("g;x=1/./y", "http://a/b/c/g;x=1/y"), ("g;x=1/../y", "http://a/b/c/y"),
            ("g?y/./x", "http://a/b/c/g?y/./x"), ("g?y/../x", "http://a/b/c/g?y/../x"),
            ("g#s/../x", "http://a/b/c/g#s/../x"), ("http:g", "http:g"),
        ] as [(String, String)])
    func resolvesTheExamplesOfTheRFC(reference: String, target: String) {
        let base = URLReference("http://a/b/c/d;p?q")
        #expect(URLReference(reference).resolved(against: base).text == target)
    }

    @Test(arguments: ["http://h?q", "HTTP://u:p@h:1/ä?#", "//h", "x", "", "?", "#", ":", "a:b:c", "/a:b", "é:x"])
    func everyTextIsTheTextOfItsParts(text: String) {
        #expect(URLReference(text).text == text)
        for end in text.indices { #expect(URLReference(String(text[..<end])).text == String(text[..<end])) }
    }

    @Test func randomTextIsTheTextOfItsPartsAndResolves() {
        var random = SeededGenerator(seed: 3)
        let base = URLReference("https://cats.test/a/b?x=1")
        for _ in 0..<LongRun.rounds(short: 2_000, long: 200_000) {
            let characters = (0..<Int.random(in: 0...12, using: &random)).map { _ in
                "ab1:/.?#&=%+ä\u{0}".randomElement(using: &random) ?? "a"
            }
            let text = String(characters)
            let reference = URLReference(text)
            #expect(reference.text == text, "seed \(random.seed)")
            let target = reference.resolved(against: base)
            #expect(target.scheme != nil, "seed \(random.seed)")
            #expect(!target.path.utf8.split(separator: UInt8(ascii: "/")).contains { $0.elementsEqual("..".utf8) })
        }
    }

    @Test func aReferenceWithoutAPathOfItsOwnGoesToTheRoot() {
        #expect(URLReference("g").resolved(against: URLReference("http://a")).text == "http://a/g")
        #expect(URLReference("?page=2").resolved(against: URLReference("http://a")).text == "http://a?page=2")
    }

    @Test(
        arguments: [
            ("http://a/b", "limit", "http://a/b?limit=30"), ("http://a/b?", "limit", "http://a/b?limit=30"),
            ("http://a?page=2", "limit", "http://a?page=2&limit=30"),
            ("http://a?limit=5&x=%2f&limit=6", "limit", "http://a?limit=30&x=%2f"),
            ("http://a?limited=5&&y", "limit", "http://a?limited=5&&y&limit=30"),
            ("http://a?li%6dit=5", "limit", "http://a?limit=30"), ("http://a?limit", "limit", "http://a?limit=30"),
            ("http://a?page[n]=1", "page[n]", "http://a?page%5Bn%5D=30"),
            ("http://a?p%5bn%5d=1&z=%zz%4", "p[n]", "http://a?p%5Bn%5D=30&z=%zz%4"),
        ] as [(String, String, String)])
    func aParameterIsSetAndTheOthersStayAsTheyAre(url: String, name: String, result: String) {
        var reference = URLReference(url)
        let had = reference.hasParameter(name)
        let others = ["http://a/b", "http://a/b?", "http://a?page=2", "http://a?limited=5&&y"]
        #expect(had == !others.contains(url))
        reference.setParameter(name, to: 30)
        #expect(reference.text == result)
        #expect(reference.hasParameter(name))
    }
}
