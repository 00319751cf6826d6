import type { DynamicModule } from '@nestjs/common';
import type { Config } from './config/config.js';
import { ConfigModule } from './config/config.module.js';
import { DatabaseModule } from './database/database.module.js';
import { HttpModule } from './http/http.module.js';
import { TenancyModule } from './tenancy/tenancy.module.js';

/** What every process has, whatever its role. */
const BASE = [DatabaseModule, HttpModule, TenancyModule];

/** What answers clients. */
const API: NonNullable<DynamicModule['imports']> = [];

/** What works in the background, in any number of copies. */
const WORKER: NonNullable<DynamicModule['imports']> = [];

/** The composition root: which parts a process is made of, by its role. */
export class AppModule {
  static for(config: Config): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ConfigModule.for(config),
        ...BASE,
        ...(config.role === 'worker' ? [] : API),
        ...(config.role === 'api' ? [] : WORKER),
      ],
    };
  }
}
