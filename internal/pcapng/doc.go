// Package pcapng writes traces as pcapng files and reads pcapng files, Weir's and other tools'. It dissects
// their frames. Package core/trace has the events, their text form, and the file format of lab captures with
// exact times.
package pcapng
