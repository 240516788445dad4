// Package chakra reads Chakra execution traces, one file per rank, and makes a job of them. Collective operations,
// which a trace has as one node, become the messages of an algorithm.
package chakra
