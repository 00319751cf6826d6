import { Injectable } from '@nestjs/common';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { Latest } from './latest.js';

/** By name; one that is undefined or left out is not exported. */
export type Readings<Name extends string> = Readonly<Partial<Record<Name, number | undefined>>>;

/** Memory, event loop and garbage of the process: there is one, however many applications a test starts in it. */
const PROCESS = new Registry();
collectDefaultMetrics({ register: PROCESS });

/**
 * What the process tells about itself, in Prometheus's text format. Each room makes its own here and gives them methods
 * with names; nobody else knows the library. Labels come from code (an operation, a result), never from a request or
 * a row: they would grow without end, and say who bought what.
 */
@Injectable()
export class Metrics {
  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE;
  private readonly registers = [new Registry()];
  private readonly readers: (() => Promise<void>)[] = [];

  counter<Label extends string>(name: string, help: string, labelNames: readonly Label[]): Counter<Label> {
    return new Counter({ name, help, labelNames, registers: this.registers });
  }

  /** Of durations in seconds: from what a query takes to what the slowest call may. */
  histogram<Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[],
  ): Histogram<Label> {
    const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
    return new Histogram({ name, help, labelNames, buckets, registers: this.registers });
  }

  /** Gauges that are read whenever somebody asks. @param helps what each means, by its name */
  gauges<Name extends string>(helps: Readonly<Record<Name, string>>, read: () => Readings<Name>): void {
    this.readWith(helps, () => Promise.resolve(read()));
  }

  /** As `gauges`, for what the database must be asked: now and then, in one breath, and gone where it does not answer. */
  storedGauges<Name extends string>(
    helps: Readonly<Record<Name, string>>,
    read: () => Promise<Readings<Name>>,
  ): void {
    const latest = new Latest(read);
    this.readWith(helps, () => latest.value());
  }

  /** Never fails because of what it reads. */
  async text(): Promise<string> {
    await Promise.all(this.readers.map((read) => read()));
    const texts = await Promise.all([...this.registers, PROCESS].map((register) => register.metrics()));
    return texts.join('\n');
  }

  private readWith<Name extends string>(
    helps: Readonly<Record<Name, string>>,
    read: () => Promise<Readings<Name> | undefined>,
  ): void {
    const gauges = Object.entries<string>(helps).map(
      ([name, help]) => [name as Name, new Gauge({ name, help, registers: this.registers })] as const,
    );
    this.readers.push(async () => {
      const readings = await read();
      for (const [name, gauge] of gauges) show(gauge, readings?.[name]);
    });
  }
}

function show(gauge: Gauge, value: number | undefined): void {
  if (value === undefined) gauge.remove();
  else gauge.set(value);
}
