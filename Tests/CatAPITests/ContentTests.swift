import CatAPI
import TestSupport
import Testing

@Suite(.limited) struct ContentTests {
    @Test func thereAreEnoughDifferentFacts() {
        #expect(CatFacts.all.count >= 200)
        #expect(Set(CatFacts.all.map(\.text)).count == CatFacts.all.count)
    }

    @Test func everyFactIsOneSentenceOfAReasonableLength() {
        for fact in CatFacts.all {
            #expect((40...220).contains(fact.length), "\(fact.text)")
            #expect(fact.length == fact.text.count, "\(fact.text)")
            #expect(fact.text.hasSuffix(".") && !fact.text.contains("  ") && !fact.text.contains("\\"), "\(fact.text)")
            #expect(fact.text.first?.isUppercase == true, "\(fact.text)")
        }
    }

    @Test func thereAreNinetyEightDifferentBreeds() {
        #expect(Breed.all.count == 98)
        #expect(Set(Breed.all.map { $0.name.lowercased() }).count == 98)
    }

    @Test func everyBreedIsFullyDescribed() {
        for breed in Breed.all {
            for text in [breed.name, breed.country, breed.origin, breed.coat, breed.pattern] {
                #expect(text.first?.isUppercase == true && text.last?.isWhitespace == false, "\(breed)")
            }
        }
        #expect(Breed.all[0].name == "Abyssinian" && Breed.all[0].pattern == "Ticked")
    }
}
