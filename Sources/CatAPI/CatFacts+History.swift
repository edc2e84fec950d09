extension CatFacts {
    /// Facts about cats in history, lore and fame; one fact per line, a backslash joins a wrapped one.
    static let history: String = """
        All house cats descend from the wildcat of North Africa and the Near East, Felis lybica.
        Cats moved in with people about ten thousand years ago, when stored grain began to draw mice.
        A grave in Cyprus about 9,500 years old holds a human and a cat side by side, the oldest known sign of \
        their bond.
        Cyprus has no native cats, so the first ones there must have travelled by boat.
        Ancient Egyptians shaved off their eyebrows when the household cat died, if Herodotus is to be believed.
        The Egyptian goddess Bastet was shown first as a lioness and later as a cat.
        The ancient Egyptian word for cat was close to the sound the animal makes: miu.
        In 1888 a farmer in Egypt came upon a mass of mummified cats, and many tons of them were later shipped to \
        England as fertiliser.
        Killing a cat, even by accident, could cost a person's life in ancient Egypt.
        Linnaeus gave the house cat its scientific name, Felis catus, in 1758.
        Ships took cats along to guard ropes and stores from rats, and so spread them over the world.
        Vikings kept cats for fur and to kill mice, and cats rode along with them to northern Europe.
        In Norse mythology, the chariot of the goddess Freyja is drawn by two cats.
        Studies of ancient DNA suggest that cats spread in two waves, first with the early farmers of the Near \
        East and then, thousands of years later, from Egypt along the trade routes of the Mediterranean.
        Islamic tradition holds cats to be clean animals, and the tale of Muezza, the Prophet's favourite cat, is \
        told to this day.
        In Japan the beckoning cat figurine called maneki-neko is set up to bring in luck and customers.
        A beckoning cat with its left paw raised is said to invite customers, and one with its right paw raised \
        to invite money.
        Black cats are unlucky in much of the West and a sign of good luck in Japan and parts of Britain.
        A Japanese island named Tashirojima is home to more cats than people.
        In Istanbul, street cats are looked after by whole neighbourhoods, and one named Tombili was given a \
        statue.
        The Hermitage museum in Saint Petersburg has kept cats against mice since the days of Empress Elizabeth.
        The British prime minister's residence has a Chief Mouser, and a tabby called Larry has held the post \
        since 2011.
        A cat named Stubbs was the honorary mayor of Talkeetna in Alaska for about twenty years.
        A calico cat named Tama was made stationmaster of a Japanese railway line and brought it so many visitors \
        that it recovered.
        The French cat Félicette flew into space on a suborbital rocket in October 1963 and came back alive.
        Félicette has a bronze statue in Strasbourg, which was unveiled in 2019.
        Simon, the cat of the frigate HMS Amethyst, is the only cat to have been given the Dickin Medal for \
        animals in war.
        The Cheshire Cat of Lewis Carroll's story fades away until only its grin is left, but the saying about \
        grinning like a Cheshire cat is older than the book and nobody knows for certain where it came from.
        A ship's cat named Trim sailed around Australia with the explorer Matthew Flinders.
        Mrs Chippy, a tomcat in spite of the name, went with Shackleton's expedition towards Antarctica.
        The legendary ship's cat Unsinkable Sam is said to have outlived the sinking of three warships.
        Towser, the cat of a Scottish distillery, is credited with having caught almost 29,000 mice.
        A cat called Orlando beat professional investors in a 2012 contest of a British newspaper by throwing a \
        toy mouse at a grid.
        In 1975 the physicist Jack Hetherington named his cat as the co-author of a paper, under the name of F. \
        D. C. Willard.
        The cat in Erwin Schrödinger's thought experiment of 1935 was never real.
        The American president Abraham Lincoln was very fond of cats and took in strays.
        Mark Twain kept many cats and rented others in the summers when he was away from home.
        At Ernest Hemingway's house in Key West live dozens of cats, many of which have six toes on a paw.
        The story that Isaac Newton invented the cat flap is only a legend, for doors with a cat hole are older.
        The door of Exeter Cathedral in England has a hole for cats that was cut around the year 1600.
        A French astronomer, Jérôme Lalande, named a constellation after the cat in 1799, but it did not last.
        While he was held prisoner on Mauritius, the explorer Matthew Flinders wrote a whole essay in praise of \
        Trim, the cat that had been with him on his voyages and had vanished on the island.
        T. S. Eliot's poems about practical cats became the libretto of a musical by Andrew Lloyd Webber.
        The first cat show to draw great crowds was held at the Crystal Palace in London in 1871.
        The man behind the cat show of 1871, Harrison Weir, also wrote one of the first books on cat breeds.
        In the 1870s the Belgian city of Liège tried out cats as carriers of letters, without much success.
        Ypres in Belgium holds a Cat Parade in which toy cats are tossed from the belfry.
        In the 1960s the CIA spent years on a plan to use cats fitted with microphones as spies.
        Scarlett, a New York stray, became famous in 1996 for carrying her five kittens out of a burning building \
        one at a time.
        The cartoon cat Felix was one of the first images ever broadcast in an American television test.
        Thomas Edison's studio filmed two cats boxing in 1894, long before anyone uploaded one.
        Cat gut strings have been made from the intestines of sheep and goats, not of cats.
        The phrase of a cat with nine lives turns to seven lives in Spanish and in several other languages.
        International Cat Day is celebrated on the eighth of August.
        In Japan, the twenty-second of February is the day of the cat, because the date can be read as meowing.
        The cat is missing from the Chinese zodiac, while the Vietnamese one has a cat in place of the rabbit.
        The world's first cat café opened in Taipei in 1998.
        """
}
