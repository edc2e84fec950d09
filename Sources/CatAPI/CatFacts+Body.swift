extension CatFacts {
    /// Facts about the body of cats; one fact per line, a backslash joins a wrapped one.
    static let body: String = """
        A cat's skeleton has between 230 and 250 bones, some of them more than an adult human's 206.
        The collarbones of a cat float in muscle, which lets it slip through gaps hardly wider than its head.
        Most cats have eighteen toes: five on each front paw and four on each hind paw.
        A cat with more toes than usual is called polydactyl.
        Resting claws are drawn back into sheaths, so they stay sharp and the cat's steps stay silent.
        Cats walk on their toes, a way of moving that zoologists call digitigrade.
        An adult cat has thirty teeth, twelve fewer than a dog.
        Kittens grow twenty-six milk teeth and lose them by about the age of six months.
        About a tenth of all the bones in a cat are found in its tail.
        A healthy cat has a body temperature of about 38.6 °C, warmer than a human would be without a fever.
        The heart of a cat at the vet's beats roughly twice as fast as that of its owner.
        The spines on a cat's tongue have hollow tips that carry saliva deep into the coat while the cat grooms \
        itself.
        Whiskers grow from follicles packed with nerve endings, so that even a light draught is felt.
        Besides those on its cheeks, a cat has whiskers above its eyes, on its chin and on the backs of its \
        forelegs.
        Each ear of a cat can turn on its own, through about half a circle.
        More than two dozen muscles move each of a cat's outer ears.
        The little fold of skin at the base of a cat's outer ear is known as Henry's pocket, and nobody is \
        certain what it is for.
        A cat's eyes face forward, so that the fields of both overlap and give it a sense of depth that is good \
        enough to judge the distance of a leap to a shelf, or to a mouse, within a few centimetres.
        Cats sweat mainly through the pads of their paws.
        A third eyelid, tucked into the inner corner, can sweep across a cat's eye to clean and shield it.
        The loose flap of skin swinging beneath many cats' bellies is called the primordial pouch.
        A falling cat rights itself without anything to push against: it bends in the middle and turns its two \
        halves separately.
        Kittens begin to show the righting reflex when they are three to four weeks old.
        In 1894 the French physiologist Étienne-Jules Marey published a series of photographs that showed how a \
        dropped cat lands on its feet.
        From a standstill, a fit cat can jump about five times its own height.
        Over a short distance, a house cat can sprint at nearly 48 kilometres per hour.
        The slit pupil of a cat can change its area more than a hundredfold, while a human's round one manages \
        about fifteenfold.
        A mirror-like layer behind the retina, the tapetum lucidum, sends light through a cat's eye twice and \
        makes it shine in headlights.
        Cats need only about a sixth of the light that people need to see.
        A cat sees roughly 200 degrees of the world around it at once, slightly more than a person does.
        Things right under its nose are a blur to a cat, which feels for them with its whiskers instead.
        A cat can hear sounds up to about 85 kilohertz, some two octaves above the limit of human hearing.
        Cats cannot taste sugar, because one of the two genes needed for a sweet receptor is broken in the whole \
        cat family.
        When a cat curls its lip and seems to grimace, it is drawing scent to an organ in the roof of its mouth.
        To cats, blues and yellows are visible enough, but reds and greens look much alike.
        The colour of a calico's coat is a map of its early life as an embryo: in every patch, the cells had \
        switched off one X chromosome or the other, and all of their descendants kept to the choice.
        Kittens are born with blue eyes, and the final colour appears over the first few months.
        A newborn kitten is blind and deaf and finds its mother by warmth and smell.
        Kittens open their eyes between one and two weeks after birth.
        White cats with two blue eyes are deaf far more often than other cats.
        A cat with one blue and one amber eye is said to be odd-eyed, and the condition is called heterochromia.
        Nearly all tortoiseshell cats are female, because the gene for orange fur sits on the X chromosome.
        A male calico cat usually has an extra X chromosome and is nearly always sterile.
        About four in five orange tabbies are male.
        The letter M on the forehead is a mark that every kind of tabby shares.
        There are four classic tabby patterns: mackerel, blotched, spotted and ticked.
        Siamese kittens are born almost white, and their points darken where the skin is coolest.
        The enzyme that colours a Siamese coat fails in the warmth, so a shaved patch kept cool can grow back \
        darker.
        The first cloned cat, called CC, did not look like the calico she was cloned from.
        Cats have nineteen pairs of chromosomes, four pairs fewer than humans.
        A cat's kidneys are so thrifty with water that cats can live on far less drink than dogs.
        Cats are obligate carnivores: without the taurine in meat their eyes and hearts suffer.
        Purring happens while a cat breathes in as well as while it breathes out.
        Because the bones of its shoulder are held by muscle alone, a cat can lengthen its stride, place its paws \
        in a single line and land softly after a jump that would hurt most animals of its size.
        Most of a cat's purr lies between about 25 and 150 hertz.
        Cats lap by pulling up a column of liquid with the tip of the tongue and closing their jaws before it \
        falls back.
        A house cat laps about four times a second.
        Adult cats rarely meow at each other; the sound is kept mostly for people.
        The average house cat weighs between four and five kilograms.
        A female cat is called a queen, and an unneutered male a tom.
        The pregnancy of a cat lasts about nine weeks.
        Kittens of a single litter can have several different fathers.
        Many cats prefer one front paw over the other, and females lean more often to the right.
        The main blood groups of cats are A and B, and a rare third one is AB.
        Cats have scent glands on their cheeks, chin, forehead, paws and at the base of the tail.
        Cat fur comes in up to three layers of hair: guard, awn and down.
        The Sphynx looks bare, but most of these cats are covered by a fine down like the skin of a peach.
        A cat uses its tail as a counterweight when it walks along a narrow fence.
        A cat walking leisurely moves both legs on one side before it moves those on the other side, as camels \
        and giraffes do.
        When it walks, a cat sets its hind paws almost exactly into the prints of its front paws.
        A cat's whiskers are two to three times as thick as the hairs of its coat.
        The scientific word for a whisker is vibrissa.
        """
}
