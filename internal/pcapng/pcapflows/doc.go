// Package pcapflows reads what hosts sent from a pcapng file, Weir's or another one: datagrams, and streams of TCP by
// what they delivered. Package pcapng reads and writes traces.
package pcapflows
