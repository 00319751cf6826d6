/** What a process told of itself at one moment. */
export interface Scrape {
  readonly text: string;
  /** Of every series of `name` that has these labels, summed; undefined where there is none. */
  value(name: string, labels?: Readonly<Record<string, string>>): number | undefined;
  /** What is exported, whether or not it has a value yet. */
  readonly names: ReadonlySet<string>;
  /** Every value of every label. */
  readonly labels: ReadonlySet<string>;
}

export async function scrape(url: string): Promise<Scrape> {
  const answer = await fetch(`${url}/metrics`);
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${answer.status} ${text}`);
  return parse(text);
}

function parse(text: string): Scrape {
  const series = [...text.matchAll(/^([a-z]\w*)(?:\{(.*)\})? (\S+)$/gm)].map(([, name, labels, value]) => ({
    name: name!,
    labels: new Map([...(labels ?? '').matchAll(/(\w+)="([^"]*)"/g)].map(([, key, each]) => [key!, each!])),
    value: Number(value),
  }));
  return {
    text,
    names: new Set(
      [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].flatMap(([, name, type]) => exported(name!, type!)),
    ),
    labels: new Set(series.flatMap(({ labels }) => [...labels.values()])),
    value: (name, wanted = {}) => {
      const found = series.filter(
        (each) =>
          each.name === name &&
          Object.entries(wanted).every(([key, value]) => each.labels.get(key) === value),
      );
      return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
    },
  };
}

function exported(name: string, type: string): string[] {
  return type === 'histogram' ? [name, `${name}_bucket`, `${name}_sum`, `${name}_count`] : [name];
}
