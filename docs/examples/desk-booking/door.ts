import type { NotActed, Unknown } from '../../../src/idempotency/operation.js';

/** What the door is asked; frozen before the call. */
export interface CodeRequest {
  readonly team: string;
  readonly desk: string;
  readonly day: string;
}

export type CodeOutcome =
  { readonly status: 'issued'; readonly code: string } | NotActed | (Unknown & { readonly absent?: boolean });

const TIMEOUT_MS = 5_000;

/** The building's doors, over HTTP: they give one code for each key, and know whose day it is. */
export class Door {
  constructor(private readonly url: string) {}

  issue(request: CodeRequest, derivedKey: string): Promise<CodeOutcome> {
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': derivedKey };
    return this.ask('/codes', { method: 'POST', headers, body: JSON.stringify(request) });
  }

  find({ team, desk, day }: CodeRequest): Promise<CodeOutcome> {
    return this.ask(`/codes?${new URLSearchParams({ team, desk, day }).toString()}`, { method: 'GET' });
  }

  private async ask(path: string, request: RequestInit): Promise<CodeOutcome> {
    try {
      const answer = await fetch(this.url + path, { ...request, signal: AbortSignal.timeout(TIMEOUT_MS) });
      if (answer.status === 429) return { status: 'not_acted', reason: 'the door has too much to do' };
      const { code } = (await answer.json()) as { readonly code?: unknown };
      if (answer.ok && typeof code === 'string') return { status: 'issued', code };
      return { status: 'unknown', reason: `status ${answer.status}`, absent: answer.status === 404 };
    } catch (error) {
      return { status: 'unknown', reason: (error as Error).message };
    }
  }
}
