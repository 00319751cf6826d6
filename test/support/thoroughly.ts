/** `npm run test:faults` tries every place and long random schedules; `npm test` a selection that takes seconds. */
export const thoroughly = process.env['THOROUGH'] === 'on';
