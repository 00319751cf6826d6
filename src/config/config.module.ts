import type { DynamicModule } from '@nestjs/common';
import { Config } from './config.js';

/** Hands the configuration to whoever asks for `Config`. */
export class ConfigModule {
  static for(config: Config): DynamicModule {
    return {
      module: ConfigModule,
      global: true,
      providers: [{ provide: Config, useValue: config }],
      exports: [Config],
    };
  }
}
