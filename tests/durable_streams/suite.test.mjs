// The program of the package finds no tests with the vitest that comes with it; this file does.
import { runConformanceTests } from '@durable-streams/server-conformance-tests';

runConformanceTests({ baseUrl: process.env.STREAMS_URL });
