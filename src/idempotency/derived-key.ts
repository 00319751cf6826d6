import type { EngineSettings } from './engine-settings.js';

/**
 * The key under which a step reaches another system: from the durable id of the execution, never from the attempt or
 * the client's key, so that every retry and every process sends the same one. The prefix keeps deployments apart
 * that share a provider's account. At most 32 + 1 + 31 + 1 + step characters: providers take 255.
 */
export function deriveKey({ keyPrefix }: EngineSettings, executionId: string, step: string): string {
  return `${keyPrefix}:${executionId}:${step}`;
}
