/**
 * What the address of the page says: `?scenario=double-click`, or a recipe of one's own, `?clicks=twice&card=declined`.
 * @returns {{ id: string } | { recipe: Record<string, string> }}
 */
export function readAddress(scenarios, choices) {
  const given = new URLSearchParams(location.search);
  const id = given.get('scenario');
  if (scenarios.some((scenario) => scenario.id === id)) return { id };
  const recipe = Object.fromEntries(
    [...given].filter(
      ([kind, choice]) => Object.hasOwn(choices, kind) && Object.hasOwn(choices[kind], choice),
    ),
  );
  return Object.keys(recipe).length > 0 || given.has('compose') ? { recipe } : { id: scenarios[0].id };
}

export function addressOf(picked) {
  if (picked.id) return `?scenario=${picked.id}`;
  const words = new URLSearchParams(picked.recipe).toString();
  return words === '' ? '?compose' : `?${words}`;
}

/** Only what is not the first choice of its kind. */
export function withoutDefaults(recipe, choices) {
  return Object.fromEntries(
    Object.entries(recipe).filter(([kind, choice]) => choice !== Object.keys(choices[kind])[0]),
  );
}
