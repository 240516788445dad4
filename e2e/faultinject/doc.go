// Package faultinject tests the program with malicious and damaged input: names that act on the terminal or page that
// shows them, and files with thousands of kinds of damage. With any input Weir works or reports the place of the error;
// it does not panic, hang, or exhaust the memory of the machine.
package faultinject
