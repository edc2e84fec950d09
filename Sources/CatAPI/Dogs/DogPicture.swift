/// A picture of a dog, drawn as SVG.
struct DogPicture: Sendable, Equatable {
    /// The index in `DogBreed.all`; nil for a dog of unknown breed.
    let breed: Int?
    /// From 1.
    let number: Int

    static let width = 480
    static let height = 400
    /// Pictures of each breed.
    static let ofEachBreed = 3
    static let ofUnknownBreed = 12

    /// The picture's name in a URL, without `.svg`.
    var id: String { "\(breed.map { DogBreed.all[$0].slug } ?? "dog")-\(number)" }

    init(breed: Int?, number: Int) {
        self.breed = breed
        self.number = number
    }

    /// The picture with this name; nil when there is none.
    init?(id: String) {
        guard let hyphen = id.lastIndex(of: "-"), let number = Int(id[id.index(after: hyphen)...]), number >= 1 else {
            return nil
        }
        let slug = id[..<hyphen]
        if slug == "dog", number <= Self.ofUnknownBreed {
            self.init(breed: nil, number: number)
        } else if number <= Self.ofEachBreed, let breed = DogBreed.all.firstIndex(where: { $0.slug == slug }) {
            self.init(breed: breed, number: number)
        } else {
            return nil
        }
        guard self.id == id else { return nil }  // `beagle-01`
    }

    /// A dog's head: the breed determines coat, ears, muzzle and patch, the picture's number the background.
    var svg: String {
        var breedRandom = SplitMix(seed: UInt64(breed ?? 1_000 + number))
        func pick(_ low: Int, _ high: Int) -> Int { Int.random(in: low...high, using: &breedRandom) }
        let coat = "hsl(\(pick(18, 45)) \(pick(15, 65))% \(pick(25, 80))%)"
        let dark = "hsl(\(pick(10, 40)) \(pick(10, 40))% \(pick(8, 28))%)"
        let sky = "hsl(\((pick(0, 359) + number * 97) % 360) 45% 85%)"
        let face = (width: pick(78, 112), height: pick(88, 116))
        let muzzle = (width: pick(34, 60), height: pick(32, 56))
        let ear = pick(40, 80)
        let hangs = pick(0, 2) > 0
        let tip = hangs ? 200 + ear : 110 - ear
        let left = 240 - face.width
        let right = 240 + face.width
        let patch = pick(0, 2) == 0 ? "<circle cx=\"285\" cy=\"180\" r=\"34\" fill=\"\(dark)\"/>" : ""
        let title = breed.map { DogBreed.all[$0].name } ?? "A dog"
        return """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(Self.width)" height="\(Self.height)" viewBox="0 0 480 400">
            <title>\(title)</title>
            <rect width="480" height="400" fill="\(sky)"/>
            <path d="M\(left + 20) 150Q\(left - ear) \(tip) \(left + 8) \(hangs ? 240 : 190)Z" fill="\(dark)"/>
            <path d="M\(right - 20) 150Q\(right + ear) \(tip) \(right - 8) \(hangs ? 240 : 190)Z" fill="\(dark)"/>
            <ellipse cx="240" cy="210" rx="\(face.width)" ry="\(face.height)" fill="\(coat)"/>\(patch)
            <circle cx="200" cy="185" r="11"/><circle cx="280" cy="185" r="11"/>
            <ellipse cx="240" cy="262" rx="\(muzzle.width)" ry="\(muzzle.height)" fill="#fff" opacity=".75"/>
            <ellipse cx="240" cy="240" rx="20" ry="14"/>
            <path d="M240 254v18m-26 6q26 22 52 0" fill="none" stroke="#000" stroke-width="5"/>
            </svg>

            """
    }
}
