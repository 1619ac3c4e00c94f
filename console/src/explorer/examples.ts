/** Ids of the company's own objects, for the variables of examples. */
export interface Known {
  agentId: string;
  chatId: string;
  executionId: string;
  campaignId: string;
}

export const knownQuery = `query Known {
  agents(first: 1) { nodes { id } }
  simulationChats(first: 1) { nodes { id } }
  agentTestExecutions(first: 1) { nodes { id } }
  campaigns(first: 1) { nodes { id } }
}`;

export interface Example {
  name: string;
  query: string;
  variables?: (known: Known) => Record<string, unknown>;
}

export const examples: Example[] = [
  {
    name: "Delegation between agents",
    query: `query Agents {
  agents(first: 5) {
    totalCount
    nodes {
      name
      channel
      tools {
        technicalName
      }
      subAgents {
        agent {
          name
          subAgents {
            agent {
              name
            }
          }
        }
      }
    }
  }
}`,
  },
  {
    name: "An agent and its prompt versions",
    query: `query Agent($id: ID!) {
  agent(id: $id) {
    name
    fields {
      name
      isMandatory
    }
    promptVersions(first: 5) {
      nodes {
        version
        createdAt
        writtenBy
        prompt
      }
    }
  }
}`,
    variables: ({ agentId }) => ({ id: agentId }),
  },
  {
    name: "Start a chat with all calls mocked",
    query: `mutation StartChat(
  $input: StartSimulationChatInput!
) {
  startSimulationChat(input: $input) {
    simulationChat {
      id
      status
      messages {
        role
        text
      }
    }
  }
}`,
    variables: ({ agentId }) => ({ input: { agentId, dataBag: {}, toolMocking: { mockAllTools: true, sideEffects: "Deny" } } }),
  },
  {
    name: "Send a message to a chat",
    query: `mutation Say(
  $input: SendSimulationMessageInput!
) {
  sendSimulationMessage(input: $input) {
    newMessages {
      sequence
      role
      text
      isConversationEnded
    }
  }
}`,
    variables: ({ chatId }) => ({ input: { simulationChatId: chatId, text: "Thanks, goodbye" } }),
  },
  {
    name: "Follow a chat",
    query: `subscription Chat($id: ID!) {
  simulationChatMessages(simulationChatId: $id) {
    sequence
    role
    text
    isConversationEnded
  }
}`,
    variables: ({ chatId }) => ({ id: chatId }),
  },
  {
    name: "Run an agent's tests",
    query: `mutation Run(
  $input: StartAgentTestExecutionInput!
) {
  startAgentTestExecution(input: $input) {
    execution {
      id
      status
      counts {
        total
      }
    }
  }
}`,
    variables: ({ agentId }) => ({ input: { agentId, repeats: 1 } }),
  },
  {
    name: "Follow a test execution",
    query: `subscription Tests($id: ID!) {
  agentTestRunUpdated(executionId: $id) {
    testName
    attempt
    status
    durationMs
  }
}`,
    variables: ({ executionId }) => ({ id: executionId }),
  },
  {
    name: "Failures and the judge's reasons",
    query: `query Failed {
  agentTestRuns(status: Failed, first: 5) {
    nodes {
      testName
      promptVersion
      criteriaResults {
        criterion
        passed
        rationale
        evidence {
          messageIndex
          quote
        }
      }
    }
  }
}`,
  },
  {
    name: "Ask the knowledge base",
    query: `query Ask($question: String!) {
  knowledgeBaseChats(first: 3) {
    nodes {
      name
      retrieve(question: $question) {
        score
        content
        document {
          name
        }
      }
    }
  }
}`,
    variables: () => ({ question: "Can I use vinegar to descale the kettle?" }),
  },
  {
    name: "Follow a campaign's contacts",
    query: `subscription Contacts($id: ID!) {
  campaignItemUpdated(campaignId: $id) {
    id
    version
    runningStatus
    attemptCount
  }
}`,
    variables: ({ campaignId }) => ({ id: campaignId }),
  },
  {
    name: "Usage this year, by month and channel",
    query: `query Used(
  $from: DateBound!
  $to: DateBound!
) {
  consumptionBreakdown(from: $from, to: $to) {
    totalCredits
    byMonth {
      month
      credits
      byChannel {
        channel
        credits
      }
    }
  }
}`,
    variables: () => {
      const today = new Date().toISOString().slice(0, 10);
      return { from: `${today.slice(0, 4)}-01-01`, to: today };
    },
  },
];
