/** Runs the suites on the Citus cluster that CITUS_URL leads into. Nobody else has one, so that without it they are skipped. */
if (process.env.CITUS_URL) {
  const { run } = await import('jest');
  await run(['--config', 'jest.citus.config.js', ...process.argv.slice(2)]);
} else {
  console.log(
    'Skipped: CITUS_URL is not set, and no package brings a Citus; set it to the URL of a coordinator, as an administrator.',
  );
}
