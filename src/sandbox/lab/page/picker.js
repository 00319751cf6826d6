import { byId, make } from './dom.js';
import { addressOf } from './address.js';

/** The list of scenarios: real links, so that they can be opened in another tab and bookmarked. */
export class Picker {
  constructor(scenarios, onPick) {
    const groups = Map.groupBy(scenarios, ({ group }) => group);
    const link = (picked, title) =>
      make(
        'a',
        {
          href: addressOf(picked),
          'data-id': picked.id ?? 'composed',
          onclick: (event) => {
            if (event.metaKey || event.ctrlKey || event.shiftKey) return;
            event.preventDefault();
            onPick(picked);
          },
        },
        title,
      );
    byId('scenario-list').append(
      ...[...groups].flatMap(([group, members]) => [
        make('h2', {}, group),
        make('ul', {}, ...members.map(({ id, title }) => make('li', {}, link({ id }, title)))),
      ]),
      make('h2', {}, 'Yours'),
      make('ul', {}, make('li', {}, link({ recipe: {} }, 'Compose your own'))),
    );
    // On a phone the list would fill the screen: it is opened by whoever wants it.
    if (matchMedia('(max-width: 899px)').matches) byId('scenarios').open = false;
  }

  show({ id = 'composed' }, title) {
    for (const link of byId('scenario-list').querySelectorAll('a')) {
      if (link.dataset.id === id) link.setAttribute('aria-current', 'true');
      else link.removeAttribute('aria-current');
    }
    const narrow = matchMedia('(max-width: 899px)').matches;
    if (narrow) byId('scenarios').open = false;
    byId('scenarios').querySelector('summary').textContent = narrow ? `Scenario: ${title}` : 'Scenarios';
  }
}
