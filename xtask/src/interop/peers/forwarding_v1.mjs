// The first line of the TypeScript SDK as a client that answers what is asked back: forms, pages and sampling.
// `forwarding_v1.mjs COMMAND…`: the command is haft in front of the reference server, which it knows as `s`.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  CreateMessageRequestSchema, ElicitRequestSchema, ElicitationCompleteNotificationSchema, ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';

const [command, ...args] = process.argv.slice(2);
const capabilities = { sampling: {}, elicitation: { form: {}, url: {} }, roots: {} };
const client = new Client({ name: 'forwarding', version: '1' }, { capabilities });
client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [] }));
client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => ({
  role: 'assistant', model: 'peer', content: { type: 'text', text: `sampled: ${params.messages[0].content.text}` },
}));
client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
  if (params.mode === 'url') {
    console.log('page', params.url);
    return { action: 'accept' };
  }
  return { action: 'accept', content: { interpretation: 'snake' } };
});
client.setNotificationHandler(ElicitationCompleteNotificationSchema, () => {});
await client.connect(new StdioClientTransport({ command, args, env: process.env }));

// What the server has depends on what its client can do: it says so when it is first called for this client.
const call = (name, args) => client.callTool({ name, arguments: args }, undefined, { timeout: 60000 });
await call('s__echo', { message: 'hello' });
const names = async () => (await client.listTools()).tools.map((tool) => tool.name);
for (let left = 100; left > 0 && !(await names()).includes('s__trigger-sampling-request'); left--) {
  await new Promise((later) => setTimeout(later, 100));
}
const said = async (name, args) => console.log(name, JSON.stringify(await call(name, args)));
await said('s__trigger-sampling-request', { prompt: 'a riddle', maxTokens: 10 });
await said('s__trigger-url-elicitation', { url: 'https://example.com/start' });
try {
  await said('s__trigger-url-elicitation', { url: 'https://example.com/first', errorPath: true });
} catch (refused) {
  console.log('refused', refused.code, JSON.stringify(refused.data));
}
await said('s__simulate-research-query', { topic: 'python', ambiguous: true });
await client.close();
console.log('all was forwarded');
