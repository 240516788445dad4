// Package recurrence compares the state of a network at two moments, word by word. If all of it is the same, each
// instant relative to its moment, then what follows the second moment is what has followed the first.
//
// All that can be reached from the roots is state, unless a field's tag says otherwise:
//
//	state:"-"        no state: configuration, room that is used again, what matters only while
//	                 packets are in the network, or what the driver makes alike itself
//	state:"count"    grows for ever, and only differences of it are looked at
//	state:"instant"  a point in time
//	state:"past"     an instant of which, once it is past, nothing but that matters
//	state:"span"     a length of time, or a constant
//
// A tag holds for all words of a field. A time without one is a difference, as it may be either. Untagged lists such
// fields.
package recurrence
