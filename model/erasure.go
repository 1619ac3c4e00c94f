package model

// EraseContactInput names the contact to erase by the phone number.
type EraseContactInput struct {
	// PhoneNumber has + and the country code, in any spelling.
	PhoneNumber string
	// IsDryRun counts the traces without erasing them.
	IsDryRun bool
}

// Erasure is the result of erasing a contact: how many rows were deleted, or had the number replaced.
type Erasure struct {
	// Items and Chats were deleted. In all other rows the number was replaced. OtherItems belong to other contacts.
	Items          int64 `json:"campaignItems"`
	OtherItems     int64 `json:"otherCampaignItems"`
	Chats          int64 `json:"simulationChats"`
	Runs           int64 `json:"agentTestRuns"`
	Snapshots      int64 `json:"agentTestSnapshots"`
	Executions     int64 `json:"agentTestExecutions"`
	Labels         int64 `json:"criterionLabels"`
	PromptVersions int64 `json:"promptVersions"`
	// IDs has the first MaxErasedIDs ids of each kind. A snapshot has the ids of its execution and of its object.
	IDs map[string][]string `json:"ids"`
	// Left lists the tables that still contain the number. The erasure does not change them.
	Left []ErasureLeft `json:"left"`
}

// MaxErasedIDs bounds the ids that an Erasure names of each kind.
const MaxErasedIDs = 100

// Add counts rows, and keeps their first ids under the name.
func (e *Erasure) Add(name string, count *int64, ids ...string) {
	*count += int64(len(ids))
	if more := ids[:min(len(ids), MaxErasedIDs-len(e.IDs[name]))]; len(more) > 0 {
		if e.IDs == nil {
			e.IDs = map[string][]string{}
		}
		e.IDs[name] = append(e.IDs[name], more...)
	}
}

// ErasureLeft is the number of rows of a table that still contain an erased number, or may contain it.
type ErasureLeft struct {
	Table string `json:"table"`
	Rows  int64  `json:"rows"`
	// IDs has the first MaxErasedIDs ids of the rows. A message has the id of its chat, and an event that of its item.
	IDs []string `json:"ids"`
}
