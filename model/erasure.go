package model

import "strings"

// EraseContactInput names a contact, whose traces are to be erased, by the phone number.
type EraseContactInput struct {
	// PhoneNumber is in E.164 form.
	PhoneNumber string
}

// Digits returns the digits of the number, by which it is found in texts however it is written there; BAD_INPUT when it is no
// phone number with its country code.
func (in EraseContactInput) Digits() (string, error) {
	var faults Fields
	number := faults.phoneNumber("phoneNumber", in.PhoneNumber, nil)
	return strings.TrimPrefix(number, "+"), faults.Err()
}

// Erasure is how much of a contact was erased.
type Erasure struct {
	Items int64 `json:"campaignItems"`
	Chats int64 `json:"simulationChats"`
	// Runs are those in whose texts the number was replaced.
	Runs int64 `json:"agentTestRuns"`
}
