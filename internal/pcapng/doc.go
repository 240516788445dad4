// Package pcapng writes traces as pcapng files and reads them again, and pcapng files of others,
// whose frames it dissects. Events and their text form are in core/trace, which also has the file
// of a lab's capture, whose times are exact.
package pcapng
