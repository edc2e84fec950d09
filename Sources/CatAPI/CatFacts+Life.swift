extension CatFacts {
    /// Facts about life with other cats and people; one fact per line, a backslash joins a wrapped one.
    static let life: String = """
        Cats sleep for twelve to sixteen hours on a usual day.
        Cats are most active at dawn and dusk, a habit that is called crepuscular.
        A slow blink from a cat is a friendly sign, and cats are likelier to come closer to a person who blinks \
        back.
        Experiments in Japan showed that cats tell their own name from similar words, whether or not they choose \
        to answer.
        A cat with its tail held straight up is greeting you.
        Kneading with the paws is left over from kittenhood, when it makes the mother's milk flow.
        By rubbing their cheeks on furniture and legs, cats leave a scent that marks them as familiar.
        Cats spend a good part of their waking hours grooming.
        Grooming cools a cat, since the saliva that it spreads evaporates.
        A hairball is technically known as a trichobezoar.
        About two cats in three react to catnip, and the tendency is inherited.
        Kittens do not react to catnip before they are about three to six months old.
        The active substance in catnip, nepetalactone, also keeps mosquitoes away.
        When people in a study let cats come to them instead of reaching out first, and left it to the cats to \
        choose where to be touched, the animals showed more affection and hardly ever bit or scratched.
        Silver vine sends even many of the cats that ignore catnip into bliss.
        A cat high on catnip usually comes down after about ten minutes and then cannot be tempted again for a \
        while.
        The chattering that cats aim at birds behind a window is thought to be excitement or frustration.
        Cats bury their droppings, which hides their trail from rivals and from enemies.
        The sudden gallop through the house at midnight has a name in animal science: a frenetic random activity \
        period.
        Cats like boxes because a closed shelter lowers their stress, as a study of newly arrived shelter cats \
        found.
        Many cats will even sit down inside a square that is only an optical illusion.
        Free-living cats hunt alone but often share a territory in groups led by related females.
        Mother cats teach their kittens to hunt by bringing them prey that is first dead, then wounded, then \
        lively.
        A cat's social window for getting used to people is open widest between two and seven weeks of age.
        Some purrs hide a cry of about the pitch of a baby's, and people find it hard to ignore when breakfast is \
        late.
        Cats purr when they are content, but also when they are hurt or giving birth.
        Kittens can hiss at a stranger's scent before they have even opened their eyes.
        Cats that share a home divide it in time as well as in space, so that one of them may own the windowsill \
        in the morning while another has it for the rest of the day without any quarrel between them.
        When a cat arches its back and puffs up its fur, it is trying to look bigger than it is.
        Ears folded flat show that a cat feels threatened and is protecting them.
        A swishing tail means irritation in a cat, while a wagging one often means joy in a dog.
        Cats can learn to come at a whistle, to jump through hoops and to high-five, if the pay is good.
        Cats land on their feet more safely from a height that gives them enough time to turn and relax.
        In a survey of New York cats that had fallen from buildings, nine out of ten of those brought to a clinic \
        survived.
        The world's oldest reliably recorded cat, Creme Puff of Texas, lived for 38 years and three days.
        Indoor cats tend to live for twelve to eighteen years.
        A one-year-old cat is about as grown up as a fifteen-year-old human.
        Cats dream: during deep sleep their paws, whiskers and eyes twitch.
        A cat that brings home a mouse is probably carrying its prey to the place where it feels safe.
        Most grown cats do not digest milk well, because they lose the enzyme for lactose after weaning.
        Onions, garlic and chives harm a cat's red blood cells.
        Hunters by nature, cats play best with toys that move like prey, away from them and in short dashes, and \
        lose interest in an object that comes towards them or just lies there.
        True lilies are so poisonous to cats that even their pollen can damage the kidneys.
        Chocolate is toxic to cats, although few of them are tempted by it.
        A painkiller harmless to people, paracetamol, can kill a cat with a single tablet.
        Cats get the moisture they need mostly from prey, which is about two thirds water.
        House cats prefer several small meals a day, matching the mice that their ancestors caught.
        Cats were long given milk, but what they need to drink is plain water.
        The parasite Toxoplasma gondii can only complete its sexual cycle inside cats.
        Rats that carry Toxoplasma can lose their natural fear of the smell of cats.
        What makes people allergic to cats is above all a protein called Fel d 1, which comes from saliva and \
        skin glands.
        Spaying and neutering make a pet cat less likely to roam and to fight.
        A single pair of cats and their young could in theory leave hundreds of descendants within a few years.
        The microchip under a pet cat's skin is about as long as a grain of rice.
        Cats from feral colonies that have been neutered are often marked by a tip clipped off one ear.
        A cat that is given part of its food in a puzzle, which has to be pushed, rolled or fished into, spends \
        more of its day busy, and vets recommend this against boredom and overweight.
        Cats have been known to find their way home over more than a hundred kilometres.
        Tracking collars show that most pet cats stay within a few hundred metres of home.
        Domestic cats and their feral kin kill billions of birds and small mammals in the United States every \
        year.
        Clicker training works on cats just as it does on dogs and dolphins.
        Cats look at their owner's face to judge whether a strange object is safe.
        In a test with strangers and owners, about two thirds of the cats were found to be securely attached to \
        their owner.
        A cat that exposes its belly trusts you, which is not the same as asking to be stroked there.
        Cats sharpen the front claws by tearing off the worn outer layers on rough surfaces.
        Two cats that are fond of each other may sleep curled together and lick each other's heads.
        Cats remember where they saw food vanish, even after many minutes.
        A clowder is the proper word for a group of cats, and a litter of kittens is called a kindle.
        The fear of cats is called ailurophobia.
        A person who loves cats may be called an ailurophile, from the Greek word for the animal.
        """
}
