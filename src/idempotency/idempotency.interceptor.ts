import { randomUUID } from 'node:crypto';
import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { ModuleRef, Reflector } from '@nestjs/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { lastValueFrom, of, type Observable } from 'rxjs';
import { typeidUnboxed } from 'typeid-js';
import { Attempt } from './attempt.js';
import type { RunOptions } from './course.js';
import { EngineSettings } from './engine-settings.js';
import { Fault } from './fault-points.js';
import { differences, fingerprint, type Fingerprint } from './fingerprint.js';
import { hasExpired, isLive, storedFingerprint, type KeyRow } from './idempotency-key.row.js';
import { IdempotencyKeyStore } from './idempotency-key.store.js';
import { IDEMPOTENT_ROUTE, type IdempotentRoute } from './idempotent-route.js';
import { KeyMetrics } from './key-metrics.js';
import { storedReply } from './local-work.js';
import type { AnyOperation, Reply } from './operation.js';
import { OperationRunner } from './operation-runner.js';
import {
  fingerprintUnknown,
  keyInUse,
  keyMismatch,
  keyUnderReview,
  recoveryPointUnknown,
} from './idempotency.problems.js';
import { KeyTaken, LeaseLost } from './ownership.js';
import { RecentKeys } from './recent-keys.js';
import { takeOver } from './take-over.js';

/** What is sent, and whose it was first. */
interface Answer {
  readonly reply: Reply;
  /** Durable id of the execution: what logs call the key. */
  readonly keyId: string;
  readonly originalRequestId: string;
  readonly replayed: boolean;
}

/** A request with a key, on its way to an answer. */
interface KeyedRequest {
  readonly tenantId: string;
  readonly key: string;
  readonly requestId: string;
  readonly fingerprint: Fingerprint;
  readonly operation: AnyOperation;
  readonly options: RunOptions;
  /** Runs the pipes and the handler, once: a body that they refuse has left no trace yet. */
  readonly input: () => Promise<unknown>;
}

/** Losing the key to another request more often than this is not bad luck but contention: 409. */
const MAX_READS = 4;

/**
 * Answers a request that carries a key: run it, resume it, replay it, or refuse it (409, 422). A key that has come by
 * here before is read first. One that has not is most likely new, and is claimed at once; who may write is decided by the
 * claim either way.
 */
@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  /** Looking one up in Nest's modules is a fiftieth of a replay. */
  private readonly operations = new Map<IdempotentRoute['holder'], AnyOperation>();
  private readonly recent = new RecentKeys();

  constructor(
    private readonly store: IdempotencyKeyStore,
    private readonly runner: OperationRunner,
    private readonly modules: ModuleRef,
    private readonly reflector: Reflector,
    private readonly metrics: KeyMetrics,
    private readonly settings: EngineSettings,
  ) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<undefined>> {
    const http = context.switchToHttp();
    const route = this.reflector.get<IdempotentRoute>(IDEMPOTENT_ROUTE, context.getHandler());
    const request = http.getRequest<FastifyRequest>();
    const keyed = this.keyed(request, route, next);
    const answer = await this.metrics.counting(keyed.operation.name, () => this.answer(keyed));
    request.annotations = { ...request.annotations, key: answer.keyId, replayed: answer.replayed };
    send(http.getResponse<FastifyReply>(), answer);
    return of(undefined);
  }

  private keyed(request: FastifyRequest, route: IdempotentRoute, next: CallHandler): KeyedRequest {
    const { tenant, idempotencyKey: key } = request;
    if (!tenant || key === undefined)
      throw new Error('The tenant guard and the key guard come before this interceptor');
    const operation = this.operationOf(route.holder);
    let input: Promise<unknown> | undefined;
    return {
      tenantId: tenant.id,
      key,
      requestId: request.id,
      fingerprint: fingerprint(request, this.settings.hashSecret, route.notFingerprinted),
      operation,
      options: this.options(request, operation),
      input: () => (input ??= lastValueFrom(next.handle())),
    };
  }

  private operationOf(holder: IdempotentRoute['holder']): AnyOperation {
    const known = this.operations.get(holder);
    if (known) return known;
    const { operation } = this.modules.get(holder, { strict: false });
    this.operations.set(holder, operation);
    return operation;
  }

  private options(request: FastifyRequest, operation: AnyOperation): RunOptions {
    const deadline = performance.now() + this.settings.timings.requestDeadline * 1_000;
    const header = this.settings.faults ? request.headers['sandbox-fault'] : undefined;
    if (typeof header !== 'string') return { deadline };
    return { deadline, fault: Fault.parse(header, operation), loseReply: () => request.raw.socket.destroy() };
  }

  private async answer(request: KeyedRequest): Promise<Answer> {
    const answer = (await this.isLikelyNew(request)) ? await this.unlessLost(this.first(request)) : undefined;
    return answer ?? this.answerByRow(request);
  }

  /**
   * Without the look a checkout has two round trips to the database and not three. A body that is refused is no reason
   * to answer yet, as its key may be known; and where a fault is asked for, what it breaks is to be the first attempt.
   */
  private async isLikelyNew({ tenantId, key, options, input }: KeyedRequest): Promise<boolean> {
    if (!this.recent.add(tenantId, key) || options.fault) return false;
    return input().then(
      () => true,
      () => false,
    );
  }

  private async answerByRow(request: KeyedRequest): Promise<Answer> {
    for (let reads = 1; reads <= MAX_READS; reads++) {
      const row = await this.store.find(request.tenantId, request.key);
      const answer = await this.unlessLost(
        row && !hasExpired(row) ? this.known(request, row) : this.first(request, { expired: row }),
      );
      if (answer) return answer;
    }
    throw keyInUse(null);
  }

  /** @returns nothing where somebody else has the key */
  private async unlessLost(answer: Promise<Answer>): Promise<Answer | undefined> {
    try {
      return await answer;
    } catch (error) {
      if (error instanceof KeyTaken || error instanceof LeaseLost) return undefined;
      throw error;
    }
  }

  /** @param looked what a look at the row has found, where there was one: none, or one that has expired */
  private async first(request: KeyedRequest, looked?: { expired: KeyRow | undefined }): Promise<Answer> {
    const { tenantId, key, requestId, operation } = request;
    const input = await request.input();
    const execution = {
      tenantId,
      key,
      id: typeidUnboxed('idem'),
      operation: operation.name,
      input,
      requestId,
    };
    const attempt = Attempt.first(
      execution,
      randomUUID(),
      { fingerprint: request.fingerprint, looked: looked !== undefined },
      looked?.expired?.version ?? 0,
    );
    return this.run(request, attempt);
  }

  /** Mismatch comes before in use: another request under this key is wrong now, and will be wrong later. */
  private async known(request: KeyedRequest, row: KeyRow): Promise<Answer> {
    const stored = storedFingerprint(row);
    if (stored.scheme !== request.fingerprint.scheme) throw fingerprintUnknown();
    const differs = differences(stored, request.fingerprint);
    if (differs.length > 0) throw keyMismatch(differs);
    const reply = storedReply(row);
    if (reply) return { reply, keyId: row.id, originalRequestId: row.request_id, replayed: true };
    if (row.status === 'review') throw keyUnderReview();
    if (isLive(row)) throw keyInUse(row.lease_remaining);
    if (row.operation !== request.operation.name) throw recoveryPointUnknown();
    return this.resume(request, row);
  }

  /** Runs the stored input: the pipes may have changed since, and what was accepted once is not asked again. */
  private async resume(request: KeyedRequest, row: KeyRow): Promise<Answer> {
    return this.run(request, await takeOver(this.store, request.tenantId, request.key, row));
  }

  private async run({ operation, options }: KeyedRequest, attempt: Attempt): Promise<Answer> {
    const reply = await this.runner.run(operation, attempt, options);
    const { id: keyId, requestId: originalRequestId } = attempt.execution;
    return { reply, keyId, originalRequestId, replayed: false };
  }
}

function send(response: FastifyReply, { reply, originalRequestId, replayed }: Answer): void {
  void response
    .code(reply.status)
    .headers({ ...reply.headers, 'Original-Request': originalRequestId })
    .headers(replayed ? { 'Idempotent-Replayed': 'true' } : {})
    .send(reply.body);
}
