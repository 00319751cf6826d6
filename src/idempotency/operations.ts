import { Injectable } from '@nestjs/common';
import type { AnyOperation } from './operation.js';

/** The operations that this build knows, by the name that keys carry. Modules register theirs. */
@Injectable()
export class Operations {
  private readonly byName = new Map<string, AnyOperation>();

  register(operation: AnyOperation): void {
    if (this.byName.has(operation.name)) throw new Error(`Two operations are named ${operation.name}`);
    this.byName.set(operation.name, operation);
  }

  /** @returns undefined where a key comes from another build */
  find(name: string): AnyOperation | undefined {
    return this.byName.get(name);
  }
}
