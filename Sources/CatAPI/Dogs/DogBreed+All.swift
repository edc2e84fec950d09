extension DogBreed {
    /// The forty breeds of the stand-in, by name.
    package static let all: [DogBreed] = [
        DogBreed(
            "Affenpinscher", "Catching rats and mice", "Toy", 12...15, "Curious, Playful, Stubborn", "Germany",
            kg: 3...5, cm: 23...30),
        DogBreed(
            "Airedale Terrier", "Hunting otters and badgers", "Terrier", 11...14, "Clever, Friendly, Confident",
            "England", kg: 20...30, cm: 56...61),
        DogBreed(
            "Akita", "Hunting bears", "Working", 10...14, "Loyal, Dignified, Alert", "Japan", kg: 32...59, cm: 61...71),
        DogBreed(
            "Alaskan Malamute", "Hauling heavy sledges", "Working", 10...13, "Affectionate, Strong-willed, Playful",
            "United States", kg: 29...43, cm: 58...64),
        DogBreed(
            "Basenji", "Hunting by sight and scent", "Hound", 12...16, "Quiet, Poised, Intelligent",
            "Democratic Republic of the Congo", kg: 9...11, cm: 41...43),
        DogBreed(
            "Basset Hound", "Trailing hares", "Hound", 12...15, "Patient, Gentle, Devoted", "France", kg: 20...29,
            cm: 33...38),
        DogBreed(
            "Beagle", "Trailing rabbits and hares in packs", "Hound", 12...15, "Merry, Even-tempered, Determined",
            "England", kg: 9...11, cm: 33...41),
        DogBreed(
            "Belgian Malinois", "Herding sheep", "Herding", 12...15, "Watchful, Hard-working, Active", "Belgium",
            kg: 18...36, cm: 56...66),
        DogBreed(
            "Bernese Mountain Dog", "Pulling carts and driving cattle", "Working", 7...10,
            "Good-natured, Calm, Faithful", "Switzerland", kg: 36...52, cm: 58...70),
        DogBreed(
            "Bichon Frisé", "Keeping people company", "Non-Sporting", 14...15, "Cheerful, Sensitive, Playful",
            "Spain and Belgium", kg: 5...8, cm: 23...30),
        DogBreed(
            "Bloodhound", "Trailing by scent", "Hound", 8...10, "Independent, Patient, Friendly", "Belgium",
            kg: 36...50, cm: 58...69),
        DogBreed(
            "Border Collie", "Herding sheep", "Herding", 12...15, "Keen, Tireless, Responsive", "United Kingdom",
            kg: 12...20, cm: 46...56),
        DogBreed(
            "Borzoi", "Coursing wolves", "Hound", 9...14, "Quiet, Gentle, Athletic", "Russia", kg: 27...48, cm: 66...81),
        DogBreed(
            "Boxer", "Holding big game", "Working", 10...12, "Bright, Energetic, Fun-loving", "Germany", kg: 25...32,
            cm: 53...64),
        DogBreed(
            "Bulldog", "", "Non-Sporting", 8...10, "Docile, Willful, Friendly", "England", kg: 18...25, cm: 31...38),
        DogBreed(
            "Cavalier King Charles Spaniel", "Keeping laps warm", "Toy", 9...15, "Graceful, Fearless, Sociable",
            "United Kingdom", kg: 5...8, cm: 30...33),
        DogBreed("Chihuahua", "", "Toy", 14...18, "Devoted, Lively, Courageous", "Mexico", kg: 1...3, cm: 15...23),
        DogBreed(
            "Chow Chow", "Guarding and hunting", "Non-Sporting", 8...12, "Aloof, Loyal, Quiet", "China", kg: 20...32,
            cm: 43...51),
        DogBreed(
            "Dachshund", "Following badgers underground", "Hound", 12...16, "Bold, Stubborn, Lively", "Germany",
            kg: 7...15, cm: 20...27),
        DogBreed(
            "Dalmatian", "Running beside carriages", "Non-Sporting", 11...13, "Outgoing, Active, Clever", "Croatia",
            kg: 20...32, cm: 48...61),
        DogBreed(
            "Dobermann", "Protecting a tax collector", "Working", 10...12, "Fearless, Alert, Obedient", "Germany",
            kg: 27...45, cm: 61...72),
        DogBreed(
            "English Setter", "Finding game birds", "Sporting", 11...15, "Mellow, Gentle, Strong-willed", "England",
            kg: 20...36, cm: 61...69),
        DogBreed(
            "Finnish Spitz", "Barking at birds in trees", "Non-Sporting", 13...15, "Vocal, Playful, Faithful",
            "Finland", kg: 7...13, cm: 39...50),
        DogBreed(
            "German Shepherd", "Herding and guarding sheep", "Herding", 9...13, "Confident, Loyal, Obedient", "Germany",
            kg: 22...40, cm: 55...65),
        DogBreed(
            "Golden Retriever", "Fetching shot birds", "Sporting", 10...12, "Trustworthy, Kind, Reliable", "Scotland",
            kg: 25...34, cm: 51...61),
        DogBreed(
            "Great Dane", "Hunting boars", "Working", 7...10, "Gentle, Confident, Devoted", "Germany", kg: 45...90,
            cm: 71...86),
        DogBreed(
            "Greyhound", "Coursing hares", "Hound", 10...13, "Even-tempered, Athletic, Quiet", "", kg: 25...40,
            cm: 68...76),
        DogBreed(
            "Havanese", "Keeping people company", "Toy", 14...16, "Outgoing, Curious, Affectionate", "Cuba", kg: 3...6,
            cm: 22...29),
        DogBreed(
            "Irish Wolfhound", "Hunting wolves", "Hound", 6...10, "Generous, Thoughtful, Dignified", "Ireland",
            kg: 41...69, cm: 71...90),
        DogBreed(
            "Labrador Retriever", "Pulling in fishing nets", "Sporting", 10...13, "Outgoing, Even-tempered, Eager",
            "Canada and United Kingdom", kg: 25...36, cm: 55...62),
        DogBreed("Maltese", "", "Toy", 12...15, "Spirited, Gentle, Fearless", "Malta", kg: 2...4, cm: 20...25),
        DogBreed(
            "Newfoundland", "Pulling nets and people out of the sea", "Working", 8...10, "Sweet, Patient, Trainable",
            "Canada", kg: 45...68, cm: 63...74),
        DogBreed(
            "Papillon", "", "Toy", 13...16, "Happy, Alert, Friendly", "France and Belgium", kg: 3...5, cm: 20...28),
        DogBreed(
            "Pembroke Welsh Corgi", "Driving cattle", "Herding", 12...14, "Bold, Playful, Outgoing", "Wales",
            kg: 11...14, cm: 25...30),
        DogBreed(
            "Poodle", "Fetching from the water", "Non-Sporting", 12...15, "Proud, Active, Very clever",
            "Germany and France", kg: 20...32, cm: 45...62),
        DogBreed(
            "Pug", "Keeping emperors company", "Toy", 12...14, "Charming, Stubborn, Sociable", "China", kg: 6...9,
            cm: 25...30),
        DogBreed(
            "Samoyed", "Herding reindeer and hauling sledges", "Working", 12...14, "Adaptable, Friendly, Gentle",
            "Siberia", kg: 23...30, cm: 48...60),
        DogBreed(
            "Shiba Inu", "Flushing birds and small game", "Non-Sporting", 12...16, "Charming, Fearless, Keen", "Japan",
            kg: 8...11, cm: 34...42),
        DogBreed(
            "Siberian Husky", "Pulling sledges over long ways", "Working", 12...15, "Outgoing, Alert, Gentle",
            "Siberia", kg: 16...27, cm: 51...60),
        DogBreed(
            "Whippet", "Coursing rabbits", "Hound", 12...15, "Quiet, Gentle, Quick", "England", kg: 11...19, cm: 44...56
        ),
    ]
}
