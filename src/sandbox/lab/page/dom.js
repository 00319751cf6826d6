/** The element with this id. */
export const byId = (id) => document.getElementById(id);

/**
 * Makes an element: `make('button', { class: 'plain', onclick }, 'Run it')`. Text only ever becomes text.
 * @param {string} name
 * @param {Record<string, unknown>} given attributes; functions are properties
 * @param {...(Node | string | null | undefined | false)} children
 */
export function make(name, given = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === 'function') element[key] = value;
    else element.setAttribute(key, value === true ? '' : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** `order_created` may break after its underscore. */
export function breakable(name) {
  return name.split(/(?<=_)/).flatMap((part, index) => (index === 0 ? [part] : [make('wbr'), part]));
}

const SVG = 'http://www.w3.org/2000/svg';

const ICONS = {
  kill: ['M6 6l12 12M18 6L6 18'],
  back: ['M5 12a7 7 0 1 0 2-4.9', 'M5 4v4h4'],
  clock: ['M12 7v5l3.5 2', 'M12 3a9 9 0 1 0 .01 0'],
  shield: ['M12 3l7 3v5c0 5-3 8-7 10-4-2-7-5-7-10V6z', 'M9 12l2 2 4-4'],
  commit: ['M5 7c0-4 14-4 14 0v10c0 4-14 4-14 0z', 'M5 7c0 4 14 4 14 0'],
  mail: ['M3 6h18v12H3z', 'M3 7l9 6 9-6'],
  wait: ['M6 12h.01M12 12h.01M18 12h.01'],
  forward: ['M4 6l8 6-8 6z', 'M12 6l8 6-8 6z'],
};

export function icon(name) {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('class', 'icon');
  svg.setAttribute('aria-hidden', 'true');
  for (const d of ICONS[name]) {
    const path = document.createElementNS(SVG, 'path');
    path.setAttribute('d', d);
    svg.append(path);
  }
  return svg;
}
