import { expectDescribed } from '../support/described.js';
import { problemOf } from '../support/problem.js';
import type { Draft } from './requests.js';
import type { WireAnswer } from './wire.js';

/** The refusals that are a result, and stored: the provider was asked, and declined. */
const STORED = [402];

/** The answer to anything is a result, or a refusal in the words of the description that has changed nothing. */
export async function expectSafe(
  draft: Draft,
  answer: WireAnswer,
  written: readonly string[],
): Promise<void> {
  const { status, headers, body } = answer;
  expect(status).toBeLessThan(500);
  if (draft.method === 'HEAD') expect(body).toBe('');
  else if (status >= 400) await problemOf(new Response(body, { status, headers }));
  if (status >= 400 && !STORED.includes(status)) expect(written).toEqual([]);
  const url = `http://checkout.example${draft.target}`;
  if (isPlain(draft.target, url))
    expectDescribed({
      method: draft.method.toLowerCase(),
      url,
      status,
      contentType: headers['content-type'] ?? '',
      body: body === '' ? undefined : JSON.parse(body),
    });
}

/** Two programs read it alike: it has no dots to resolve, and no host of its own. */
function isPlain(target: string, url: string): boolean {
  return URL.canParse(url) && target.startsWith(new URL(url).pathname);
}
