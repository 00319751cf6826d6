/** What the platform asks every process, every few seconds, to know whether it is well. */
export function isHealthProbe(url: string): boolean {
  return url === '/health/live' || url === '/health/ready';
}
