// The first line of the TypeScript SDK as a client: lists the tools, calls one, prints both.
// `client_v1.mjs http URL` or `client_v1.mjs stdio COMMAND…`.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const [kind, ...words] = process.argv.slice(2);
const transport =
  kind === 'http'
    ? new StreamableHTTPClientTransport(new URL(words[0]))
    : new StdioClientTransport({ command: words[0], args: words.slice(1), env: process.env });
const client = new Client({ name: 'interop', version: '1' });
await client.connect(transport);
const { tools } = await client.listTools();
console.log(tools.length, 'tools');
const result = await client.callTool({ name: 'Glob', arguments: { pattern: '*.md' } });
for (const block of result.content) console.log(block.text);
await client.close();
