import { Catch, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Problem } from '../../../src/http/problem.js';

/** What the engine throws carries its own bytes and headers; everything else the application answers as it always did. */
@Catch(Problem)
export class ProblemFilter implements ExceptionFilter {
  catch(problem: Problem, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<FastifyReply>();
    void response.status(problem.getStatus()).headers(problem.headers).send(JSON.stringify(problem));
  }
}
