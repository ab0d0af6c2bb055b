// Reads and writes the few fields of ONNX's TensorProto that whole dense tensors need.
'use strict';

// ONNX element type number -> name in ONNX Runtime, its array type, and the field that holds
// values where raw_data does not.
const TYPES = {
  1: {name: 'float32', array: Float32Array, field: 4},
  2: {name: 'uint8', array: Uint8Array, field: 5},
  3: {name: 'int8', array: Int8Array, field: 5},
  4: {name: 'uint16', array: Uint16Array, field: 5},
  5: {name: 'int16', array: Int16Array, field: 5},
  6: {name: 'int32', array: Int32Array, field: 5},
  7: {name: 'int64', array: BigInt64Array, field: 7},
  9: {name: 'bool', array: Uint8Array, field: 5},
  10: {name: 'float16', array: Uint16Array, field: 5},
  11: {name: 'float64', array: Float64Array, field: 10},
};

const DIMS = 1;
const DATA_TYPE = 2;
const NAME = 8;
const RAW_DATA = 9;

/** Walks the fields of one message. */
class Reader {
  constructor(buffer) {
    this.buffer = buffer;
    this.at = 0;
  }

  done() {
    return this.at >= this.buffer.length;
  }

  varint() {
    let value = 0n;
    for (let shift = 0n;; shift += 7n) {
      if (this.done() || shift > 63n) throw new Error('not a TensorProto: broken varint');
      const byte = this.buffer[this.at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return BigInt.asIntN(64, value);
    }
  }

  bytes(count) {
    if (this.at + count > this.buffer.length) throw new Error('not a TensorProto: cut off');
    this.at += count;
    return this.buffer.subarray(this.at - count, this.at);
  }

  /** The next field: its number, wire type and value (a BigInt or bytes). */
  field() {
    const key = Number(this.varint());
    const wire = key & 7;
    const number = key >> 3;
    if (wire === 0) return {number, wire, value: this.varint()};
    if (wire === 1) return {number, wire, value: this.bytes(8)};
    if (wire === 2) return {number, wire, value: this.bytes(Number(this.varint()))};
    if (wire === 5) return {number, wire, value: this.bytes(4)};
    throw new Error(`not a TensorProto: wire type ${wire}`);
  }
}

/** The integers of a repeated field, packed or not. */
function integers({wire, value}) {
  if (wire === 0) return [value];
  const reader = new Reader(value);
  const result = [];
  while (!reader.done()) result.push(reader.varint());
  return result;
}

/** Copies bytes into a typed array: their address in the file need not be aligned. */
function fromBytes(array, bytes) {
  return new array(new Uint8Array(bytes).buffer);
}

function valuesFrom(type, fields) {
  const own = fields.filter((f) => f.number === type.field);
  if (type.array === Float32Array || type.array === Float64Array) {
    return fromBytes(type.array, Buffer.concat(own.map((f) => f.value)));
  }
  const whole = own.flatMap(integers);
  return type.array === BigInt64Array ? BigInt64Array.from(whole) : type.array.from(whole, Number);
}

/** Returns {type, data, dims} of a serialized TensorProto; throws on what it does not know. */
function decodeTensor(buffer) {
  const reader = new Reader(buffer);
  const fields = [];
  while (!reader.done()) fields.push(reader.field());
  const dims = fields.filter((f) => f.number === DIMS).flatMap(integers).map(Number);
  const number = Number(fields.find((f) => f.number === DATA_TYPE)?.value ?? 0n);
  const type = TYPES[number];
  if (!type) throw new Error(`TensorProto of element type ${number}; accepted: ${Object.keys(TYPES)}`);
  const raw = fields.find((f) => f.number === RAW_DATA);
  const data = raw ? fromBytes(type.array, raw.value) : valuesFrom(type, fields);
  const expected = dims.reduce((a, b) => a * b, 1);
  if (data.length !== expected) {
    throw new Error(`TensorProto of dims [${dims}] holds ${data.length} values`);
  }
  return {type: type.name, data, dims};
}

function varint(value) {
  let rest = BigInt.asUintN(64, BigInt(value));
  const bytes = [];
  while (rest > 127n) {
    bytes.push(Number(rest & 127n) | 128);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}

function lengthDelimited(number, bytes) {
  return Buffer.concat([varint((number << 3) | 2), varint(bytes.length), bytes]);
}

/** Returns the TensorProto of an ONNX Runtime tensor. */
function encodeTensor(name, tensor) {
  const entry = Object.entries(TYPES).find(([, type]) => type.name === tensor.type);
  if (!entry) throw new Error(`output ${name} has element type ${tensor.type}`);
  const {buffer, byteOffset, byteLength} = tensor.data;
  return Buffer.concat([
    lengthDelimited(DIMS, Buffer.concat(tensor.dims.map(varint))),
    varint(DATA_TYPE << 3),
    varint(entry[0]),
    lengthDelimited(NAME, Buffer.from(name)),
    lengthDelimited(RAW_DATA, Buffer.from(buffer, byteOffset, byteLength)),
  ]);
}

module.exports = {decodeTensor, encodeTensor};
