// Drives ONNX Runtime for tools/ort_run; see its --help.
'use strict';

const fs = require('fs');
const path = require('path');
const readline = require('readline');

const ort = require('onnxruntime-node');

const {decodeTensor, encodeTensor} = require('./tensor_proto.js');

class UsageError extends Error {}

const DEFAULTS = {threads: 1, runs: 20, warmup: 3, optimize: 'all', clock: 'wall', out: null};

function parse(argv) {
  const flags = {...DEFAULTS, positional: []};
  for (let i = 0; i < argv.length; i++) {
    if (!argv[i].startsWith('--')) {
      flags.positional.push(argv[i]);
      continue;
    }
    const [name, inline] = argv[i].slice(2).split('=');
    if (!(name in DEFAULTS)) throw new UsageError(`unknown option --${name}`);
    const text = inline ?? argv[++i];
    if (text === undefined) throw new UsageError(`--${name} needs a value`);
    const numeric = typeof DEFAULTS[name] === 'number';
    if (numeric && !/^\d+$/.test(text)) throw new UsageError(`--${name}: '${text}' is no number`);
    flags[name] = numeric ? Number(text) : text;
  }
  return flags;
}

/** A loaded model with its inputs. */
class Model {
  static async load(file, inputFiles, flags) {
    const session = await ort.InferenceSession.create(file, {
      executionProviders: ['cpu'],
      executionMode: 'sequential',
      intraOpNumThreads: flags.threads,
      interOpNumThreads: 1,
      graphOptimizationLevel: flags.optimize,
      logSeverityLevel: 3,
    });
    if (inputFiles.length !== session.inputNames.length) {
      throw new UsageError(
          `${file} has inputs ${session.inputNames.join(', ')}; got ${inputFiles.length} files`);
    }
    const feeds = {};
    session.inputNames.forEach((name, i) => {
      const {type, data, dims} = decodeTensor(fs.readFileSync(inputFiles[i]));
      feeds[name] = new ort.Tensor(type, data, dims);
    });
    return new Model(session, feeds, flags.clock);
  }

  constructor(session, feeds, clock) {
    this.session = session;
    this.feeds = feeds;
    this.clock = clock;
    this.outputs = null;
  }

  /** Runs once; returns milliseconds. */
  async run() {
    const before = process.cpuUsage();
    const start = process.hrtime.bigint();
    this.outputs = await this.session.run(this.feeds);
    const wall = Number(process.hrtime.bigint() - start) / 1e6;
    if (this.clock === 'wall') return wall;
    const used = process.cpuUsage(before);
    return Math.min(wall, (used.user + used.system) / 1e3);
  }

  async times(count) {
    const result = [];
    for (let i = 0; i < count; i++) result.push(await this.run());
    return result;
  }

  save(directory) {
    fs.mkdirSync(directory, {recursive: true});
    this.session.outputNames.forEach((name, i) => {
      const bytes = encodeTensor(name, this.outputs[name]);
      fs.writeFileSync(path.join(directory, `output_${i}.pb`), bytes);
    });
    return this.session.outputNames.length;
  }
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

function print(value) {
  process.stdout.write(JSON.stringify(value) + '\n');
}

async function obey(model, line) {
  const [verb, argument] = line.trim().split(/\s+/);
  if (verb === 'run' && /^\d+$/.test(argument ?? '1')) {
    print({ms: await model.times(Number(argument ?? '1'))});
  } else if (verb === 'save' && argument && model.outputs) {
    print({saved: model.save(argument)});
  } else if (verb) {
    print({error: `not understood: '${line}'; accepted: run N, save DIR (after a run), quit`});
  }
}

async function serve(model) {
  print({ready: true});
  for await (const line of readline.createInterface({input: process.stdin})) {
    if (line.trim() === 'quit') return;
    await obey(model, line);
  }
}

/** Writes the model that ONNX Runtime makes of `file` at the level flags.optimize. */
async function optimize(file, flags) {
  const session = await ort.InferenceSession.create(file, {
    executionProviders: ['cpu'],
    graphOptimizationLevel: flags.optimize,
    optimizedModelFilePath: flags.out,
    logSeverityLevel: 3,
  });
  await session.release();
}

/** Many models in one process: each line of standard input names a folder. */
async function each(flags) {
  print({ready: true});
  for await (const line of readline.createInterface({input: process.stdin})) {
    const folder = line.trim();
    if (folder === 'quit') return;
    const inputs = [];
    for (let i = 0; fs.existsSync(path.join(folder, `input_${i}.pb`)); i++) {
      inputs.push(path.join(folder, `input_${i}.pb`));
    }
    try {
      const model = await Model.load(path.join(folder, 'model.onnx'), inputs, flags);
      await model.run();
      print({outputs: model.save(folder)});
      await model.session.release();
    } catch (error) {
      print({error: error.message});
    }
  }
}

async function main(argv) {
  const flags = parse(argv);
  const [verb, file, ...inputs] = flags.positional;
  if (verb === 'each') return each(flags);
  if (!['wall', 'cpu'].includes(flags.clock)) {
    throw new UsageError(`--clock: '${flags.clock}' is neither wall nor cpu`);
  }
  if (!['run', 'time', 'serve', 'optimize'].includes(verb)) throw new UsageError(`unknown command '${verb}'`);
  if (!file) throw new UsageError('which model?');
  if (verb === 'run' && !flags.out) throw new UsageError('run needs --out DIR');
  if (verb === 'optimize' && !flags.out) throw new UsageError('optimize needs --out FILE');
  if (verb === 'optimize') return optimize(file, flags);
  const model = await Model.load(file, inputs, flags);
  if (verb === 'serve') {
    await model.times(flags.warmup);
    await serve(model);
  } else if (verb === 'run') {
    await model.run();
    model.save(flags.out);
  } else {
    await model.times(flags.warmup);
    const ms = await model.times(flags.runs);
    print({
      model: path.basename(file),
      threads: flags.threads,
      runs: ms.length,
      median_ms: median(ms),
      min_ms: Math.min(...ms),
      max_ms: Math.max(...ms),
    });
  }
}

main(process.argv.slice(2)).catch((error) => {
  process.stderr.write(`ort_run: ${error.message}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
});
