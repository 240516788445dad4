// Package hostile holds the program against those who mean it ill, and against accidents: names that act where
// they are shown, files that are damaged in a thousand ways. Whatever comes in, Weir works or says where it is
// wrong; it does not panic, hang, or take the machine's memory.
package hostile
