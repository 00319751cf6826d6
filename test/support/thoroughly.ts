/** `npm run test:faults` and `test:fuzz` try every place, long random schedules and more requests; `npm test` a selection that takes seconds. */
export const thoroughly = process.env['THOROUGH'] === 'on';
