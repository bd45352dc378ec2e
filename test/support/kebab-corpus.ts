// A small library of household and field lore with labelled questions: what search quality is measured by. Written for these tests.

export const corpus: Readonly<Record<string, string>> = {
  "bread.md": `# Bread
## Sourdough starter
Mix equal weights of rye flour and water and leave the jar open to the air of a warm kitchen. Feed it once a day; after a week it rises and smells like apples.
## Kneading
Fold the dough towards you and push it away with the heel of your hand for ten minutes, until a thin piece stretches without tearing.
## Proofing
Let the loaf rest under a damp cloth until it has doubled. In a refrigerator this takes a night, and the flavour gains from it.
## Oven and steam
Heat the stone for an hour at 250 degrees. A cup of water thrown onto the hot floor makes the steam that gives a crackling crust.
## Storing loaves
Bread stays fresh in a paper bag inside a wooden box. A refrigerator turns it stale, a freezer does not.
## When a loaf fails
A flat loaf was left to rise for too long; a dense one not long enough. Large holes under the crust come from careless shaping.
`,
  "bees.md": `# Keeping bees
## The hive
A hive has a floor, two boxes for the brood and up to three supers for honey. It faces the morning sun and stands on a dry base.
## The queen
There is one queen in a colony. She lays up to two thousand eggs a day in May and lives for three or four years.
## Swarming
When the colony is crowded the old queen leaves with half of the workers. Cells hanging from the edge of a comb announce it a week before.
## Harvest
Honey is ripe when four fifths of the comb is sealed with wax. Its water content must be below 18 percent, otherwise it ferments.
## Varroa mites
The mite sucks on larvae and spreads viruses. Formic acid in August and oxalic acid in December keep it down.
## Feeding for winter
A colony needs fifteen kilograms of stores. Sugar syrup of three parts sugar to two parts water is given before the end of September.
## Stings
Scrape the sting out sideways with a fingernail. Pressing it with two fingers empties the poison sac into the skin.
`,
  "bicycle.md": `# Bicycle workshop
## Patching a tube
Roughen the rubber around the hole with sandpaper, spread vulcanising glue, wait until it is dull, then press the patch on firmly.
## Chain wear
Measure twelve links: at 308 millimetres instead of 304.8 the chain is worn out and begins to eat the sprockets.
## Brake pads
Pads are replaced when the grooves are gone. Squealing stops when the front of the pad touches the rim slightly before the rear.
## Truing a wheel
Loosen the spokes on the side towards which the rim leans and tighten those opposite, a quarter turn at a time.
## Gear cable
If the derailleur hesitates on the way to larger sprockets, turn the barrel adjuster anticlockwise by half a turn.
## Tyre pressure
A tyre of 28 millimetres under a rider of 75 kilograms takes about 5.5 bar; wide tyres take much less.
## Saddle height
With the heel on the pedal at its lowest point the knee is just straight. A saddle that is too low hurts the knees.
`,
  "garden.md": `# Kitchen garden
## Compost
Layer green waste and brown twigs, keep the heap as moist as a squeezed sponge, and turn it after two months.
## Tomatoes
Pinch out the side shoots every week. Water at the root, never on the leaves: blight needs wet foliage for eight hours.
## Slugs
Copper tape around a raised bed keeps slugs away. Beer traps attract more of them than they drown.
## Crop rotation
Peas and beans fix nitrogen, so cabbage follows them; potatoes come back to a bed in the fourth year only.
## Pruning apple trees
Cut in late winter, above a bud that looks outwards. What grows straight up in July is torn off by hand.
## Sowing calendar
Broad beans go out in February, carrots in March, courgettes after the last frost in the middle of May.
## Rainwater
A square metre of roof gives a litre for every millimetre of rain. A barrel with a lid breeds no mosquitoes.
`,
  "sailing.md": `# Sailing small boats
## Points of sail
Close hauled, the boat points 45 degrees off the wind; on a beam reach it is fastest; running dead downwind risks a gybe.
## Reefing
Shorten the mainsail as soon as you think of it. A boat that heels beyond 20 degrees slips sideways and is slower.
## Right of way
A boat on port tack gives way to one on starboard tack. On the same tack the windward boat keeps clear.
## Anchoring
Let out chain of five times the depth, or rope of seven times, and look at two marks on shore to see whether the anchor drags.
## Man overboard
Shout, point at the person without looking away, throw a ring, and come back to them close to the wind.
## Tides
The water moves slowly in the first and sixth hour and fastest in the third and fourth: the rule of twelfths.
## Knots on board
The bowline makes a loop that does not slip. A rolling hitch holds a rope to a spar, a cleat hitch holds a boat to the pier.
`,
  "stars.md": `# The night sky
## Finding north
Follow the two outer stars of the Plough five times their distance: there is Polaris, less than a degree from the pole.
## Planets or stars
Planets shine with a steady light near the ecliptic; stars twinkle because air bends the light of a point.
## The Moon's phases
A waxing moon is lit on the right in the northern hemisphere. From new moon to new moon it takes twenty-nine and a half days.
## Meteor showers
The Perseids peak on the twelfth of August with up to ninety meteors an hour; they are crumbs of comet Swift-Tuttle.
## Choosing binoculars
Seven by fifty is a good start: seven times larger, lenses of fifty millimetres, steady in the hand.
## Dark adaptation
Eyes take half an hour to become fully sensitive. Red light does not undo it, a glance at a telephone does.
## Solar eclipses
Only during totality may one look without a filter. It lasts seven and a half minutes at the very most.
`,
  "first-aid.md": `# First aid
## Burns
Cool a small burn with running water of twenty degrees for ten minutes. Ice, butter and flour do harm.
## Nosebleeds
Lean forward and pinch the soft part of the nose for a quarter of an hour. Do not tilt the head back.
## Unconscious but breathing
Turn the person onto one side with the mouth lowest, so that nothing blocks the airway.
## Resuscitation
Push hard on the middle of the chest, a hundred to a hundred and twenty times a minute, five centimetres deep.
## Fractures
Do not straighten the limb. Support it above and below the break and cover open wounds with a sterile cloth.
## Ticks
Pull a tick out slowly with fine tweezers close to the skin. A red ring that spreads days later needs a doctor.
## Heat stroke
Shade, raised legs, wet cloths. A hot dry skin and confusion are an emergency.
`,
  "tea.md": `# Tea
## Green tea
Pour water of seventy degrees and let it draw for two minutes. Boiling water makes it bitter.
## Black tea
Boiling water, three minutes to stimulate, five to calm: tannins bind the caffeine slowly.
## Oolong
Half fermented leaves are steeped many times, each for less than a minute in a small pot.
## Storing leaves
Keep tea in a tin, away from light, coffee and spices: leaves take on every smell.
## Water
Soft water brings out the flavour; hard water leaves a film on the cup and dulls it.
## Matcha
Sift two grams of the powder into a bowl, add a little hot water and whisk in a zigzag until there is foam.
`,
  "chess.md": `# Chess
## Castling
The king moves two squares towards a rook that has not moved, and the rook jumps over him. Not out of check, not through it.
## En passant
A pawn that moves two squares and lands beside an enemy pawn may be taken as if it had moved one, on the next move only.
## Stalemate
A player who is not in check and has no legal move ends the game as a draw.
## Openings
Take the centre with a pawn, bring out knights before bishops, and castle before the tenth move.
## Endgame with rooks
A rook belongs behind a passed pawn, whether it is one's own or the opponent's.
## Clocks
In a rapid game each player has between ten and sixty minutes. Who touches a piece has to move it.
## Notation
Each square has a letter from a to h and a number from 1 to 8; N stands for a knight, because K is the king.
`,
  "house.md": `# Around the house
## Bleeding a radiator
Turn the valve with a square key until water comes instead of air, and refill the heating to one and a half bar.
## Dripping tap
Shut off the water, unscrew the handle and renew the rubber washer. Limescale comes off with vinegar.
## Fuses
A fault-current breaker trips when current leaks to earth. Switch off all circuits, then on one by one, to find which.
## Damp walls
Mould grows where the air is humid and the wall is cold. Open the windows wide three times a day for five minutes.
## Painting
Stir, tape the edges, begin with the ceiling, and roll wet into wet so that no seams stay.
## Creaking stairs
Talcum powder between the tread and the riser silences the squeak; screws from below cure it.
## Blocked drain
Baking soda and vinegar loosen grease. Hair needs a spiral, and harsh chemicals eat old pipes.
`,
  "weather.md": `# Weather signs
## Clouds
Mares' tails of cirrus that thicken announce rain within a day. Towers with an anvil bring thunder.
## Thunder and lightning
Count the seconds between flash and bang and divide by three: that is the distance in kilometres.
## Fog
It forms on clear nights without wind when the ground cools the moist air, and goes when the sun warms it.
## Barometer
A fall of more than three hectopascals in three hours means a gale is near.
## Foehn
Air that sinks behind a mountain range becomes warm and dry; it melts snow and gives some people headaches.
## Wind force
At force four small branches move and dust is raised; at force eight twigs break and walking is hard.
`,
  "records.md": `# Old records
## Cleaning vinyl
Distilled water with a drop of detergent, a soft brush along the groove, and a rack to dry. Never use alcohol on shellac.
## Stylus
A diamond tip lasts for a thousand hours. A worn one damages grooves for good.
## Tracking force
Balance the arm until it floats, then set two grams. Too little force makes the needle jump and harms more than too much.
## Storing sleeves
Stand records upright, neither loose nor pressed together, away from heating: leaning ones warp.
## Speeds
Long players turn at thirty-three and a third, singles at forty-five, shellac at seventy-eight revolutions a minute.
## Hum
A buzzing noise of fifty hertz is an earth loop: connect the thin wire of the turntable to the screw of the amplifier.
`,
};

/** Question, document, heading of the passage that answers it. */
export const questions: readonly (readonly [string, string, string])[] = [
  ["How do I make a sourdough starter with rye flour?", "bread.md", "Sourdough starter"],
  ["How long should I knead the dough?", "bread.md", "Kneading"],
  ["What gives bread a crackling crust?", "bread.md", "Oven and steam"],
  ["Where should bread be stored to stay fresh?", "bread.md", "Storing loaves"],
  ["Why is my loaf flat or dense?", "bread.md", "When a loaf fails"],
  ["Can dough rest in the refrigerator for a night?", "bread.md", "Proofing"],
  ["How many eggs does a queen lay a day?", "bees.md", "The queen"],
  ["How can I tell that the colony is about to swarm, when the old queen leaves?", "bees.md", "Swarming"],
  ["What must the water content of ripe honey be?", "bees.md", "Harvest"],
  ["What helps against the varroa mite?", "bees.md", "Varroa mites"],
  ["How much sugar syrup does a colony need for winter?", "bees.md", "Feeding for winter"],
  ["How should a sting be removed?", "bees.md", "Stings"],
  ["Which way should a hive face?", "bees.md", "The hive"],
  ["How do I patch a hole in a tube?", "bicycle.md", "Patching a tube"],
  ["When is a bicycle chain worn out?", "bicycle.md", "Chain wear"],
  ["Why do my brake pads squeal?", "bicycle.md", "Brake pads"],
  ["How is a wheel trued with its spokes?", "bicycle.md", "Truing a wheel"],
  ["The derailleur hesitates, which way do I turn the barrel adjuster?", "bicycle.md", "Gear cable"],
  ["What pressure does a tyre of 28 millimetres take?", "bicycle.md", "Tyre pressure"],
  ["How high should the saddle be?", "bicycle.md", "Saddle height"],
  ["How moist should a compost heap be?", "garden.md", "Compost"],
  ["How do I keep blight off tomatoes?", "garden.md", "Tomatoes"],
  ["Do beer traps work against slugs?", "garden.md", "Slugs"],
  ["What should follow peas and beans in a bed?", "garden.md", "Crop rotation"],
  ["When should apple trees be pruned?", "garden.md", "Pruning apple trees"],
  ["When are carrots sown?", "garden.md", "Sowing calendar"],
  ["How much rainwater does a roof give?", "garden.md", "Rainwater"],
  ["Which point of sail is the fastest?", "sailing.md", "Points of sail"],
  ["When should I reef the mainsail?", "sailing.md", "Reefing"],
  ["Who gives way, port or starboard tack?", "sailing.md", "Right of way"],
  ["How much chain does an anchor need?", "sailing.md", "Anchoring"],
  ["What do I do when somebody falls overboard?", "sailing.md", "Man overboard"],
  ["What is the rule of twelfths?", "sailing.md", "Tides"],
  ["Which knot makes a loop that does not slip?", "sailing.md", "Knots on board"],
  ["How do I find Polaris from the Plough?", "stars.md", "Finding north"],
  ["Why do stars twinkle and planets not?", "stars.md", "Planets or stars"],
  ["How long is it from new moon to new moon?", "stars.md", "The Moon's phases"],
  ["When do the Perseids peak?", "stars.md", "Meteor showers"],
  ["Which binoculars are a good start?", "stars.md", "Choosing binoculars"],
  ["How long do eyes take to adapt to the dark?", "stars.md", "Dark adaptation"],
  ["How do I cool a burn?", "first-aid.md", "Burns"],
  ["Should I tilt my head back when my nose bleeds?", "first-aid.md", "Nosebleeds"],
  ["How deep must I push on the chest?", "first-aid.md", "Resuscitation"],
  ["How do I pull out a tick?", "first-aid.md", "Ticks"],
  ["What are the signs of heat stroke?", "first-aid.md", "Heat stroke"],
  ["How hot should the water for green tea be?", "tea.md", "Green tea"],
  ["What do tannins do to caffeine?", "tea.md", "Black tea"],
  ["How is matcha whisked?", "tea.md", "Matcha"],
  ["May the king castle out of check?", "chess.md", "Castling"],
  ["When may a pawn be taken en passant?", "chess.md", "En passant"],
  ["Is stalemate a draw?", "chess.md", "Stalemate"],
  ["Where does a rook belong when there is a passed pawn?", "chess.md", "Endgame with rooks"],
  ["How do I bleed a radiator?", "house.md", "Bleeding a radiator"],
  ["How do I stop a dripping tap?", "house.md", "Dripping tap"],
  ["Why does mould grow on cold walls?", "house.md", "Damp walls"],
  ["How can I silence creaking stairs?", "house.md", "Creaking stairs"],
  ["How far away is the lightning when I count the seconds?", "weather.md", "Thunder and lightning"],
  ["What does a falling barometer mean?", "weather.md", "Barometer"],
  ["How is vinyl cleaned?", "records.md", "Cleaning vinyl"],
  ["Where does the fifty hertz hum of a turntable come from?", "records.md", "Hum"],
];
