/** What the platform asks, every few seconds and of every process. */
export function isProbe(url: string): boolean {
  return url.startsWith('/health/') || url === '/metrics';
}
