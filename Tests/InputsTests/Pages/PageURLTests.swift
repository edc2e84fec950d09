import CLinux
import TestSupport
import Testing

@testable import Inputs

@Suite(.limited) struct PageURLTests {
    /// RFC 3986, sections 5.4.1 and 5.4.2, without fragments.
    @Test(
        arguments: [
            ("g", "/b/c/g"), ("./g", "/b/c/g"), ("g/", "/b/c/g/"), ("/g", "/g"), ("?y", "/b/c/d;p?y"),
            ("g?y", "/b/c/g?y"), ("#s", "/b/c/d;p?q"), ("g#s", "/b/c/g"), ("g?y#s", "/b/c/g?y"), (";x", "/b/c/;x"),
            ("g;x", "/b/c/g;x"), ("g;x?y#s", "/b/c/g;x?y"), ("", "/b/c/d;p?q"), (".", "/b/c/"), ("./", "/b/c/"),
            ("..", "/b/"), ("../", "/b/"), ("../g", "/b/g"), ("../..", "/"), ("../../", "/"), ("../../g", "/g"),
            ("../../../g", "/g"), ("../../../../g", "/g"), ("/./g", "/g"), ("/../g", "/g"), ("g.", "/b/c/g."),
            (".g", "/b/c/.g"), ("g..", "/b/c/g.."), ("..g", "/b/c/..g"), ("./../g", "/b/g"), ("./g/.", "/b/c/g/"),
            ("g/./h", "/b/c/g/h"), ("g/../h", "/b/c/h"), ("g;x=1/./y", "/b/c/g;x=1/y"), ("g;x=1/../y", "/b/c/y"),
            ("g?y/./x", "/b/c/g?y/./x"), ("g?y/../x", "/b/c/g?y/../x"), ("g#s/../x", "/b/c/g"),
        ])
    func followsTheExamplesOfTheRFC(link: String, target: String) {
        #expect(PageURL("http://a/b/c/d;p?q").following(link)?.text == "http://a\(target)")
    }

    @Test(arguments: [
        ("http://a", "//g/h", "http://g/h"), ("http://a", "g", "http://a/g"),
        ("https://a/b", "?page=2", "https://a/b?page=2"), ("http://a/b", "https://u:p@h:8/x#y", "https://u:p@h:8/x"),
        ("http://a/b#c", "", "http://a/b"), ("http://a/b", "//h:8?q=1", "http://h:8/?q=1"),
        ("http://a?x", "//h:8/q", "http://h:8/q"), ("http://a?x", "//h:8", "http://h:8/"),
        ("http://a/b", "//h?/q", "http://h/?/q"),
    ])
    func followsLinksToOtherPlaces(page: String, link: String, target: String) {
        #expect(PageURL(page).following(link)?.text == target)
    }

    @Test(arguments: [
        "g:h", "http:g", "javascript:alert(1)", "http://", "http://[", "http://a b/", "a\u{0}b", "\u{0}", "?a\u{0}",
        "//h\u{0}.test/", "/a\u{7F}",
    ])
    func followsNoOtherText(link: String) { #expect(PageURL("http://a/b").following(link) == nil) }

    @Test func randomLinksLeadSomewhereOrNowhere() {
        var random = SeededGenerator(seed: 3)
        for _ in 0..<LongRun.rounds(short: 2_000, long: 200_000) {
            let characters = (0..<Int.random(in: 0...12, using: &random)).map { _ in
                "ab1:/.?#&=%+ä\u{0}".randomElement(using: &random) ?? "a"
            }
            guard let target = PageURL("https://cats.test/a/b?x=1").following(String(characters)) else { continue }
            #expect(target.text.contains("://") && !target.text.contains("#"), "seed \(random.seed)")
            let path = target.text.prefix { $0 != "?" }
            #expect(!path.split(separator: "/").contains(".."), "seed \(random.seed)")
        }
    }

    @Test func emptyFieldsLeaveNoMemoryBehind() {
        let page = PageURL("http://a/b?" + String(repeating: "&", count: 1_000))
        let before = mallinfo2().uordblks
        for _ in 0..<1_000 { #expect(!page.hasParameter("limit")) }
        #expect(mallinfo2().uordblks < before + 16 << 20)
    }

    @Test(
        arguments: [
            ("http://a/b", "limit", "http://a/b?limit=30"), ("http://a/b?", "limit", "http://a/b?limit=30"),
            ("http://a?page=2", "limit", "http://a?page=2&limit=30"),
            ("http://a?limit=5&x=%2f&limit=6", "limit", "http://a?limit=30&x=%2f"),
            ("http://a?limited=5&&y", "limit", "http://a?limited=5&&y&limit=30"),
            ("http://a?li%6dit=5", "limit", "http://a?limit=30"), ("http://a?limit", "limit", "http://a?limit=30"),
            ("http://a?p+q=1", "p q", "http://a?p%20q=30"),
            ("http://a?page[n]=1", "page[n]", "http://a?page%5Bn%5D=30"),
            ("http://a?p%5bn%5d=1&z=%zz%4", "p[n]", "http://a?p%5Bn%5D=30&z=%zz%4"),
        ] as [(String, String, String)])
    func aParameterIsSetAndTheOthersStayAsTheyAre(url: String, name: String, result: String) {
        var reference = PageURL(url)
        let had = reference.hasParameter(name)
        let others = ["http://a/b", "http://a/b?", "http://a?page=2", "http://a?limited=5&&y"]
        #expect(had == !others.contains(url))
        reference.setParameter(name, to: 30)
        #expect(reference.text == result)
        #expect(reference.hasParameter(name))
    }
}
