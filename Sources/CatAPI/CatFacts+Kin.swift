extension CatFacts {
    /// Facts about wild relatives and breeds; one fact per line, a backslash joins a wrapped one.
    static let kin: String = """
        The cat family, Felidae, has about forty wild species.
        House cats share most of their genome, about 95.6 percent, with tigers.
        The rusty-spotted cat of India and Sri Lanka competes with Africa's black-footed cat for the title of \
        smallest cat.
        The black-footed cat catches its prey in about six out of ten attempts, which makes it one of the best \
        hunters of all cats.
        Lions, tigers, leopards and jaguars can roar, but they do not purr as a house cat does.
        Cheetahs cannot roar; they purr, chirp and even meow.
        The puma purrs, and by that measure it is the largest of the cats that do.
        The snow leopard does not roar and wraps itself in its thick tail for warmth.
        Sand cats have fur on the soles of their paws that shields them from hot ground.
        The fishing cat dives after fish and has partly webbed front feet.
        The margay can climb down a tree head first, because its ankles turn by half a circle.
        A margay in the Amazon was heard imitating the calls of monkey young to lure adults closer.
        The serval has the longest legs of any cat in relation to its size.
        Pallas's cat has round pupils, unlike the slits of a house cat.
        The coat of Pallas's cat is the densest of any cat's, with about nine thousand hairs on a square \
        centimetre.
        The Iberian lynx came back from fewer than a hundred adults in 2002 to more than a thousand.
        The wildcat of Scotland is close to extinction, not least because it has mixed with house cats for so \
        long.
        The jaguar has the strongest bite of all big cats for its size and can crack the shell of a turtle.
        Whether a cat can roar depends on its voice box: the long, soft folds in the larynx of a lion or tiger \
        vibrate at a low pitch with little effort, and those of smaller cats are built for other sounds.
        A tiger's stripes are on its skin as well as in its fur.
        No two tigers bear the same pattern of stripes.
        For its size, the clouded leopard has the longest canine teeth of any living cat.
        The Andean mountain cat is among the rarest and least known cats of the Americas.
        The flat-headed cat of Southeast Asia eats mainly fish and frogs.
        The caracal can leap up about three metres and strike birds out of the air.
        Cats are more closely related to hyenas than to dogs.
        The Maine Coon is one of the largest breeds of cat, and big males weigh more than eight kilograms.
        A Maine Coon called Stewie measured 123 centimetres from the nose to the tip of the tail.
        The Singapura is one of the smallest breeds of cat.
        The Norwegian Forest cat can climb down rocks and trees head first on its strong claws.
        The Turkish Van is known for its liking for water.
        The Japanese Bobtail has a tail like a pompom, and no two of them are quite alike.
        Manx cats come from the Isle of Man, and many of them have no tail at all.
        All Scottish Folds go back to a white barn cat called Susie, found in Scotland in 1961.
        The gene that folds a Scottish Fold's ears weakens cartilage all over its body.
        American Curls have ears that bend backwards, a trait of a stray called Shulamith from California.
        The Devon Rex and the Cornish Rex owe their wavy coats to two different mutations.
        Scientists compared the genes of house cats and wildcats and found that the main differences lie in those \
        for memory, fear and reward, which fits the idea that cats have tamed themselves.
        The LaPerm goes back to a barn kitten from Oregon that was born bald and later grew curls.
        The Sphynx breed began with a hairless kitten born in Toronto in 1966.
        Bengal cats descend from crosses of house cats with the Asian leopard cat.
        The Savannah is a cross between a house cat and a serval.
        The Russian Blue's coat looks silvery because the tips of its hairs have no pigment.
        The Chartreux, an old French breed, is known for a blue coat and for being very quiet.
        The Egyptian Mau is among the fastest of house cats and is spotted by nature.
        The Korat from Thailand is given in pairs to newlyweds as a token of good luck.
        The Birman has four white paws, known as gloves in front and laces behind.
        Ragdolls are named for their habit of going limp when they are picked up.
        The Ocicat looks wild but has only Abyssinian, Siamese and American Shorthair ancestors.
        The Toyger was bred so that its stripes recall those of a tiger.
        The Lykoi, whose patchy coat gives it the look of a werewolf, owes this to a natural mutation.
        The short legs of the Munchkin come from a single dominant gene.
        The Khao Manee is a pure white cat from Thailand, prized for odd eyes in blue and gold.
        The Somali is a longhaired Abyssinian with a tail like a fox's brush.
        The Burmese breed in the West goes back mainly to one brown cat, Wong Mau, that came to San Francisco in \
        1930.
        Persian cats are among the oldest longhaired breeds, and were brought to Italy in the 1620s.
        The Peterbald of Saint Petersburg can be born bald, with velvet or with a brush coat.
        """
}
