// A document for those who have none at hand, and a question that it answers.

const text = `# The lighthouse at Grey Point

## The log

The keeper writes down every ship that passes, with the hour and the wind.
A page that is full is never torn out: whoever comes later must be able to read what happened.

## The lamp

The lamp burns from dusk to dawn and needs forty litres of oil in a winter night.
When the fog comes in, the bell is rung twice a minute until the other shore can be seen.

## The boat

A boat brings oil and bread on the first Monday of each month, if the sea allows it.
`;

export const sampleQuestion = "How much oil does the lamp need?";

export const sampleFile = (): File => new File([text], "lighthouse.md", { type: "text/markdown" });
