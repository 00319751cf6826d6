import { Injectable } from '@nestjs/common';
import type { RouteOptions } from 'fastify';

/** Every route the service has, so that a known path with a wrong method is told from an unknown path. */
@Injectable()
export class RouteTable {
  private readonly methods = new Map<string, Set<string>>();

  add({ url, method }: Pick<RouteOptions, 'url' | 'method'>): void {
    const known = this.methods.get(url) ?? new Set();
    for (const name of [method].flat()) known.add(name);
    this.methods.set(url, known);
  }

  /** @param url as the client sent it; a query is ignored */
  methodsAt(url: string): string[] {
    const path = url.split('?', 1)[0]!;
    const found = [...this.methods].filter(([pattern]) => matches(pattern, path));
    return [...new Set(found.flatMap(([, methods]) => [...methods]))].sort();
  }
}

function matches(pattern: string, path: string): boolean {
  const expected = pattern.split('/');
  const actual = path.split('/');
  return expected.length === actual.length && expected.every((part, index) => fits(part, actual[index]!));
}

function fits(part: string, actual: string): boolean {
  return part.startsWith(':') ? actual !== '' : part === actual;
}
