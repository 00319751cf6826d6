import { register } from 'node:module';

/** `node --import ./test/torture/register.mjs <file>.ts`: runs the TypeScript as it stands, as jest does. */
register('./typescript-hooks.mjs', import.meta.url);
