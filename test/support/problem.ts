/** A problem as it came over the wire, checked for what every problem promises. */
export interface WireProblem {
  readonly response: Response;
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly errors?: readonly { param: string; message: string }[];
  readonly error: Readonly<Record<string, unknown>>;
}

/** @throws where the answer is not a well-formed problem [ERR-1, ERR-2] */
export async function problemOf(response: Response): Promise<WireProblem> {
  const text = await response.text();
  expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/);
  const problem = JSON.parse(text) as Omit<WireProblem, 'response'> & { type: string; title: string };
  expect(problem.status).toBe(response.status);
  expect(problem.type).toMatch(/^\/problems\/[a-z-]+$/);
  expect(problem.title).toEqual(expect.any(String));
  expect(Object.keys(problem).every((name) => /^[A-Za-z_][A-Za-z0-9_]{2,}$/.test(name))).toBe(true);
  expect(['api_error', 'card_error', 'idempotency_error', 'invalid_request_error']).toContain(
    problem.error['type'],
  );
  expect(problem.error).toMatchObject({ code: problem.code, message: problem.detail });
  expect(response.headers.get('request-id')).toMatch(/^req_[0-9a-z]{26}$/);
  return { ...problem, response };
}
